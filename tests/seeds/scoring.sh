# A scoring script: the commands of the public sample of managed online endpoints, in its order.
set -e
BASE_PATH=scoring-script
export ENDPOINT_NAME=endpt-`echo $RANDOM`

az ml online-endpoint create -n $ENDPOINT_NAME --auth-mode key
az ml online-deployment create --name blue --endpoint $ENDPOINT_NAME -f $BASE_PATH/blue-deployment.yml --all-traffic
az ml online-deployment get-logs --name blue --endpoint $ENDPOINT_NAME
az ml online-endpoint invoke --name $ENDPOINT_NAME --request-file $BASE_PATH/sample-request.json
az ml online-endpoint delete --name $ENDPOINT_NAME --yes --no-wait
