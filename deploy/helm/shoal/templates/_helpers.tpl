{{- define "shoal.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* (list $ "component"): what selects its pods */}}
{{- define "shoal.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "shoal.labels" -}}
{{- $root := index . 0 -}}
{{ include "shoal.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* (list $ "control"): one of the three images */}}
{{- define "shoal.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- if $image.registry }}{{ $image.registry }}/{{ end }}{{ index $image (index . 1) }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end }}

{{/* What every pod of ours has; 10001 is the user of deploy/Dockerfile */}}
{{- define "shoal.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "shoal.sealed" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Pods of one component keep away from each other, where they can */}}
{{- define "shoal.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "shoal.selector" . | nindent 8 }}
{{- end }}

{{- define "shoal.studioUrl" -}}
{{ .Values.studio.url | default (printf "http://%s-web:8080" (include "shoal.name" .)) | trimSuffix "/" }}
{{- end }}
{{- define "shoal.scoringUrl" -}}
{{- $port := eq (int .Values.gateway.port) 443 | ternary "" (printf ":%d" (int .Values.gateway.port)) -}}
{{ .Values.scoring.url | default (printf "https://%s-gateway.%s.svc%s" (include "shoal.name" .) .Release.Namespace $port) | trimSuffix "/" }}
{{- end }}
{{- define "shoal.agentsUrl" -}}
https://{{ include "shoal.name" . }}-agents.{{ .Release.Namespace }}.svc:8445
{{- end }}
{{- define "shoal.host" -}}
{{ (urlParse .).hostname }}
{{- end }}

{{/* Where its own name is what a proxy, a probe or Prometheus calls it by */}}
{{- define "shoal.hosts" -}}
{{- $name := include "shoal.name" . -}}
$(POD_IP),{{ include "shoal.host" (include "shoal.studioUrl" .) }},localhost,127.0.0.1,{{ $name }}-web,{{ $name }}-web.{{ .Release.Namespace }},{{ $name }}-web.{{ .Release.Namespace }}.svc
{{- end }}

{{/* (list resources gpus): with a limit of GPUs, where there are some */}}
{{- define "shoal.resources" -}}
{{- $resources := deepCopy (index . 0 | default dict) -}}
{{- if index . 1 }}
{{- $_ := set $resources "limits" (set ($resources.limits | default dict) "nvidia.com/gpu" (index . 1 | toString)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{/* (list NAME SECRET KEY) */}}
{{- define "shoal.fromSecret" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ index . 1 }}, key: {{ index . 2 }}}}
{{- end }}

{{/* The environment of every process of the control plane */}}
{{- define "shoal.controlEnvironment" -}}
{{- $secrets := .Values.secrets -}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{ include "shoal.fromSecret" (list "SHOAL_SECRET_KEY" $secrets.keys.name $secrets.keys.secretKey) }}
{{ include "shoal.fromSecret" (list "SHOAL_GATEWAY_TOKEN" $secrets.keys.name $secrets.keys.gatewayToken) }}
{{ include "shoal.fromSecret" (list "SHOAL_NODE_TOKEN" $secrets.keys.name $secrets.keys.nodeToken) }}
{{ include "shoal.fromSecret" (list "SHOAL_DATABASE_URL" $secrets.database.name $secrets.database.key) }}
{{ include "shoal.fromSecret" (list "SHOAL_METRICS_DATABASE_URL" $secrets.metricsDatabase.name $secrets.metricsDatabase.key) }}
{{ include "shoal.fromSecret" (list "SHOAL_REDIS_URL" $secrets.redis.name $secrets.redis.key) }}
{{- if $secrets.signIn }}
{{- range $name := list "SHOAL_OIDC_CLIENT_SECRET" "SHOAL_REMOTE_SECRET" }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $secrets.signIn }}, key: {{ $name }}, optional: true}}
{{- end }}
{{- end }}
{{- if $secrets.imports }}
{{- range $name := list "SHOAL_HUB_TOKEN" "SHOAL_MLFLOW_TOKEN" "SHOAL_IMPORT_S3_SECRET_KEY" }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $secrets.imports }}, key: {{ $name }}, optional: true}}
{{- end }}
{{- end }}
{{- if $secrets.mail }}
- name: SHOAL_EMAIL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $secrets.mail }}, key: SHOAL_EMAIL_PASSWORD}}
{{- end }}
- {name: SHOAL_PUBLIC_URL, value: {{ include "shoal.studioUrl" . | quote }}}
- {name: SHOAL_ALLOWED_HOSTS, value: {{ include "shoal.hosts" . | quote }}}
- {name: SHOAL_TRUSTED_PROXIES, value: {{ join "," .Values.studio.trustedProxies | quote }}}
- {name: SHOAL_GATEWAY_URL, value: {{ include "shoal.scoringUrl" . | quote }}}
- {name: SHOAL_GATEWAY_PLAIN_URL, value: {{ printf "http://%s-gateway-plain:8090" (include "shoal.name" .) | quote }}}
- {name: SHOAL_AGENT_URL, value: {{ .Values.agentsPort.url | default (include "shoal.agentsUrl" .) | quote }}}
- {name: SHOAL_SANDBOX, value: {{ .Values.sandbox | quote }}}
{{- if .Values.storage.bucketUrl }}
- {name: SHOAL_BLOB_URL, value: {{ .Values.storage.bucketUrl | quote }}}
{{- if $secrets.bucket }}
{{ include "shoal.fromSecret" (list "AWS_ACCESS_KEY_ID" $secrets.bucket "AWS_ACCESS_KEY_ID") }}
{{ include "shoal.fromSecret" (list "AWS_SECRET_ACCESS_KEY" $secrets.bucket "AWS_SECRET_ACCESS_KEY") }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* How agents find the control plane, and whom they believe there */}}
{{- define "shoal.agentEnvironment" -}}
- {name: SHOAL_CONTROL_URL, value: {{ include "shoal.agentsUrl" . | quote }}}
- {name: SHOAL_CONTROL_CA_FILE, value: /trust/agents-ca.pem}
{{- end }}

{{- define "shoal.trustVolume" -}}
- name: trust
  secret:
    secretName: {{ .Values.secrets.agentsAuthority }}
    items: [{key: tls.crt, path: agents-ca.pem}]
{{- end }}

{{- define "shoal.dataVolume" -}}
- name: data
  persistentVolumeClaim: {claimName: {{ .Values.storage.existingClaim | default (printf "%s-data" (include "shoal.name" .)) }}}
- {name: tmp, emptyDir: {}}
{{- end }}

{{- define "shoal.dataMounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "shoal.gatewayTlsSecret" -}}
{{ .Values.gateway.tlsSecret | default (.Values.certManager.enabled | ternary (printf "%s-gateway-tls" (include "shoal.name" .)) "") }}
{{- end }}
{{- define "shoal.ingressTlsSecret" -}}
{{ .Values.ingress.tlsSecret | default (.Values.certManager.enabled | ternary (printf "%s-studio-tls" (include "shoal.name" .)) "") }}
{{- end }}
