# Local endpoints: the commands of the public sample, in its order. No installation takes part.
set -e
unset SHOAL_HOME
BASE_PATH=scoring-script
export ENDPOINT_NAME=endpt-`echo $RANDOM`

az ml online-endpoint create --local -n $ENDPOINT_NAME
az ml online-deployment create --local -n blue --endpoint $ENDPOINT_NAME -f $BASE_PATH/blue-deployment.yml
az ml online-endpoint show -n $ENDPOINT_NAME --local
az ml online-endpoint invoke --local --name $ENDPOINT_NAME --request-file $BASE_PATH/sample-request.json
az ml online-deployment get-logs --local -n blue --endpoint $ENDPOINT_NAME
az ml online-endpoint delete --name $ENDPOINT_NAME --local --yes
