# A model of MLflow without a script: the commands of the public sample, then KServe's typed tensors.
set -e
BASE_PATH=mlflow
export ENDPOINT_NAME=endpt-`echo $RANDOM`

az ml online-endpoint create --name $ENDPOINT_NAME --auth-mode key
az ml online-deployment create --name sklearn-deployment --endpoint $ENDPOINT_NAME -f $BASE_PATH/deployment.yml --all-traffic
az ml online-endpoint invoke --name $ENDPOINT_NAME --request-file $BASE_PATH/sample-request.json

scoring_uri=$(az ml online-endpoint show -n $ENDPOINT_NAME --query scoring_uri -o tsv)
auth_token=$(az ml online-endpoint get-credentials -n $ENDPOINT_NAME --query accessToken -o tsv)
python $BASE_PATH/infer.py ${scoring_uri%/} $auth_token
az ml online-endpoint delete --name $ENDPOINT_NAME --yes
