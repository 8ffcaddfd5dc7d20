{{/* Names have at most 63 bytes with the longest suffix, "-coordinator-headless". */}}
{{- define "ergoflow.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a component: (list $ "coordinator"). */}}
{{- define "ergoflow.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "ergoflow.labels" -}}
{{- $root := index . 0 -}}
{{ include "ergoflow.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{- end -}}

{{- define "ergoflow.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "ergoflow.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "ergoflow.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* The address at which others reach a port of the pod. Brackets suit IPv4 and IPv6. */}}
{{- define "ergoflow.address" -}}
{{ printf "[$(POD_IP)]:%d" . }}
{{- end -}}

{{- define "ergoflow.podIP" -}}
- name: POD_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end -}}

{{/* The beginning of a pod's spec, under the restricted profile of Pod Security. Service links
would put ERGOFLOW_… variables into the environment, where ergoflow looks for settings. */}}
{{- define "ergoflow.pod" -}}
serviceAccountName: {{ include "ergoflow.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  # Otherwise each start gives the group access to the keys in the volume.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "ergoflow.container" -}}
image: {{ include "ergoflow.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Requests and limits, with GPUs: of workers, or of retrain. */}}
{{- define "ergoflow.resources" -}}
{{- $resources := deepCopy .resources -}}
{{- if .gpus -}}
{{- $_ := set $resources "limits" (merge (dict "nvidia.com/gpu" (.gpus | int)) (default dict $resources.limits)) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Where the pods of a component may run. */}}
{{- define "ergoflow.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the pods find credentials for a bucket. */}}
{{- define "ergoflow.storeEnv" -}}
{{- if .Values.store.secret }}
- {name: AWS_SHARED_CREDENTIALS_FILE, value: /run/secrets/ergoflow-store/credentials}
{{- end }}
{{- end -}}

{{/* What the pods mount for the shards. */}}
{{- define "ergoflow.storeMounts" -}}
{{- if not .Values.store.location }}
- {name: store, mountPath: /srv/ergoflow}
{{- end }}
{{- if .Values.store.secret }}
- {name: store-access, mountPath: /run/secrets/ergoflow-store, readOnly: true}
{{- end }}
{{- end -}}

{{- define "ergoflow.storeVolumes" -}}
{{- if not .Values.store.location }}
- name: store
  persistentVolumeClaim: {claimName: {{ default (printf "%s-store" (include "ergoflow.fullname" .)) .Values.store.existingClaim }}}
{{- end }}
{{- with .Values.store.secret }}
- name: store-access
  secret: {secretName: {{ . }}}
{{- end }}
{{- end -}}

{{/* The spec of a claim: of persistence values. */}}
{{- define "ergoflow.claim" -}}
accessModes: [{{ .accessMode }}]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end -}}

{{/* What the schema cannot say. */}}
{{- define "ergoflow.check" -}}
{{- $bounds := splitList ":" .Values.coordinator.workersFor -}}
{{- if and (eq (len $bounds) 2) (gt (int (index $bounds 0)) (int (index $bounds 1))) -}}
{{- fail (printf "coordinator.workersFor is %s: the minimum is above the maximum" .Values.coordinator.workersFor) -}}
{{- end -}}
{{- with .Values.workers.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "workers.autoscaling: minReplicas is %d, above maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.store -}}
{{- if and .location .existingClaim -}}
{{- fail "store.location is a bucket: leave store.existingClaim empty" -}}
{{- end -}}
{{- if and .secret (not (hasPrefix "s3://" .location)) -}}
{{- fail "store.secret is for a store.location with s3://" -}}
{{- end -}}
{{- end -}}
{{- if and (hasPrefix "s3://" .Values.store.location) .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- fail "store.location is a bucket outside the cluster: name its address in networkPolicy.egress" -}}
{{- end -}}
{{- if and (eq .Values.store.accessMode "ReadWriteOnce") (not .Values.store.location) .Values.workers.affinity -}}
{{- fail "store.accessMode ReadWriteOnce sets the affinity of the workers: leave workers.affinity empty" -}}
{{- end -}}
{{- end -}}
