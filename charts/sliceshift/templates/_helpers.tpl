{{/* The labels by which the manager is found; they cannot change between versions. */}}
{{- define "sliceshift.labels" -}}
app.kubernetes.io/name: sliceshift
app.kubernetes.io/component: manager
{{- end }}

{{/* A setting of the settings file: (list . "key" "default"), or of a section: (list . "section" "key" "default"). */}}
{{- define "sliceshift.setting" -}}
{{- $config := (index . 0).Values.config | default dict }}
{{- if eq (len .) 4 }}{{ $config = get $config (index . 1) | default dict }}{{ end }}
{{- $key := index . (sub (len .) 2 | int) }}
{{- if hasKey $config $key }}{{ get $config $key }}{{ else }}{{ last . }}{{ end }}
{{- end }}

{{/* The port of an address such as :8443; nothing of "0", which turns the server off. */}}
{{- define "sliceshift.port" -}}
{{- if ne . "0" }}{{ regexFind "[0-9]+$" . }}{{ end }}
{{- end }}

{{- define "sliceshift.metricsPort" -}}
{{- include "sliceshift.port" (include "sliceshift.setting" (list . "metricsBindAddress" ":8443")) }}
{{- end }}

{{- define "sliceshift.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Objects of config/: (list . "path"). Nothing is changed of them but the namespace. */}}
{{- define "sliceshift.file" -}}
{{- $root := index . 0 }}
{{- required (printf "the chart lacks %s: it is a link into config, which an archive must follow" (index . 1)) ($root.Files.Get (index . 1)) | replace "namespace: sliceshift-system" (printf "namespace: %s" $root.Release.Namespace) | trim }}
{{- end }}

{{/* Whether the cluster knows admission policies. */}}
{{- define "sliceshift.knowsPolicies" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}yes{{ end }}
{{- end }}

{{/* Whether what the manager does as another account is bounded, which an API server before 1.36 does not know. */}}
{{- define "sliceshift.constrained" -}}
{{- $known := semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}
{{- if and (eq .Values.rbac.impersonation "constrained") (not $known) }}
{{- fail (printf "Kubernetes %s does not constrain impersonation, which needs 1.36: the manager could act as nobody; leave rbac.impersonation at auto" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and $known (ne .Values.rbac.impersonation "legacy") }}yes{{ end }}
{{- end }}
