# The first seed's tab "Azure CLI": the same commands, options and queries, in the same order.
set -e
BASE_PATH=single-model
export ENDPOINT_NAME=triton-single-endpt-`echo $RANDOM`

az ml online-endpoint create -n $ENDPOINT_NAME -f $BASE_PATH/create-managed-endpoint.yaml
az ml online-deployment create --name blue --endpoint $ENDPOINT_NAME -f $BASE_PATH/create-managed-deployment.yaml --all-traffic
az ml online-endpoint show -n $ENDPOINT_NAME

endpoint_status=`az ml online-endpoint show --name $ENDPOINT_NAME --query "provisioning_state" -o tsv`
echo $endpoint_status
if [[ $endpoint_status != "Succeeded" ]]; then
  echo "Endpoint creation failed"
  exit 1
fi
deploy_status=`az ml online-deployment show --name blue --endpoint $ENDPOINT_NAME --query "provisioning_state" -o tsv`
echo $deploy_status
if [[ $deploy_status != "Succeeded" ]]; then
  echo "Deployment failed"
  exit 1
fi

scoring_uri=$(az ml online-endpoint show -n $ENDPOINT_NAME --query scoring_uri -o tsv)
scoring_uri=${scoring_uri%/*}
auth_token=$(az ml online-endpoint get-credentials -n $ENDPOINT_NAME --query accessToken -o tsv)
python $BASE_PATH/triton_densenet_scoring.py --base_url=$scoring_uri --token=$auth_token --image_path $BASE_PATH/data/peacock.png

az ml online-endpoint delete -n $ENDPOINT_NAME --yes
az ml model archive --name sample-densenet-onnx-model --version 1

# The tab "Studio" begins with these two.
az ml model create -f $BASE_PATH/create-triton-model.yaml
az ml model show --name densenet-onnx-model --version 1 --query "[name, version, type]" -o tsv
