package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GateScheme is the scheme of requests to a pod.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type GateScheme string

// The schemes.
const (
	GateHTTP GateScheme = "HTTP"
	// GateHTTPS: the pod's certificate is not verified, as for a kubelet's probe.
	GateHTTPS GateScheme = "HTTPS"
)

// GateSecretReference names one key of a Secret in the pod's cluster, in the namespace of its StatefulSet. The Secret
// is read for each request, with the rights of that request. Its value is sent to the pod and shown nowhere.
type GateSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// key in the Secret's data.
	// +optional
	// +kubebuilder:default=value
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}

// KeyOrDefault returns the key, or the default for objects that no API server has defaulted.
func (r GateSecretReference) KeyOrDefault() string { return cmp.Or(r.Key, "value") }

// GateHeader is one header of a request.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.secretRef))",message="a header has a value or a secretRef, not both"
// +kubebuilder:validation:XValidation:rule="self.name.lowerAscii() != 'authorization' || has(self.secretRef)",message="Authorization is a credential: name the Secret that holds it in secretRef, or use bearerTokenSecretRef"
type GateHeader struct {
	// name of the header. Headers about the sender's identity or the connection are refused, because the request
	// passes through the API server. Authorization requires a secretRef.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	Name string `json:"name"`
	// value of the header.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
	// secretRef names the Secret that holds the whole value, in place of value.
	// +optional
	SecretRef *GateSecretReference `json:"secretRef,omitempty"`
}

// HTTPGate sends GET to an endpoint of a pod through the API server of the pod's cluster (subresource pods/proxy), so
// that it works wherever the manager runs. Redirects are not followed. Values of Secrets are sent over a connection
// to the port of the pod itself (subresource pods/portforward), with the host localhost. It is encrypted up to the
// pod's node; with pods/proxy the API server would take Authorization as its own.
//
// +kubebuilder:validation:XValidation:rule="!has(self.bearerTokenSecretRef) || !has(self.headers) || !self.headers.exists(h, h.name.lowerAscii() == 'authorization')",message="bearerTokenSecretRef is the header Authorization: use one of the two"
type HTTPGate struct {
	// scheme that the API server uses for the pod.
	// +optional
	// +kubebuilder:default=HTTP
	Scheme GateScheme `json:"scheme,omitempty"`
	// port number of the pod.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// path of the endpoint, with an optional query. Default: /.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`
	// headers that are sent.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []GateHeader `json:"headers,omitempty"`
	// bearerTokenSecretRef names a token that is sent to the pod (Authorization: Bearer).
	// +optional
	BearerTokenSecretRef *GateSecretReference `json:"bearerTokenSecretRef,omitempty"`
	// expectedStatus lists the HTTP status codes of good answers. Default: 200 to 299.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	ExpectedStatus []int32 `json:"expectedStatus,omitempty"`
	// bodyContains is a text that the first 64 KiB of a good answer must contain. Default: any body is good.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	BodyContains string `json:"bodyContains,omitempty"`
}

// Secrets returns the references to Secrets whose values are sent to the pod.
func (g HTTPGate) Secrets() []GateSecretReference {
	var all []GateSecretReference
	if g.BearerTokenSecretRef != nil {
		all = append(all, *g.BearerTokenSecretRef)
	}
	for _, header := range g.Headers {
		if header.SecretRef != nil {
			all = append(all, *header.SecretRef)
		}
	}
	return all
}

// GRPCGate calls the health service of a pod (grpc.health.v1.Health/Check, without TLS) through the API server of the
// pod's cluster (subresource pods/portforward).
type GRPCGate struct {
	// port number of the pod.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// service whose health is requested. Default: that of the whole server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Service string `json:"service,omitempty"`
}

// GateObjects selects the objects of an expression. In name and namespace, ${ordinal}, ${pod}, ${statefulset} and
// ${namespace} are replaced by those of the checked side and ordinal.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="set either name or selector"
type GateObjects struct {
	// apiVersion of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z][a-z0-9]*$`
	APIVersion string `json:"apiVersion"`
	// kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// side whose cluster has them. Default: the side where the checked ordinal runs; at the end, the side that all
	// ordinals have moved to.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// namespace of the objects. Default: that of the side's StatefulSet. A cluster-scoped kind has none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// name of a single object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// selector of several objects by their labels: at most 500. An empty one selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// CELGate evaluates an expression over objects of one side.
type CELGate struct {
	// objects that are read, without a cache.
	// +required
	Objects GateObjects `json:"objects"`
	// expression in CEL, with the functions of Kubernetes. The gate passes if it is true. Its variables are object
	// (the one selected by name; null if it does not exist), objects (all that were selected), ordinal and pod (null
	// and empty at the end), and side (Source or Destination).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// PrometheusServer is a Prometheus server and the way to reach it.
type PrometheusServer struct {
	// address of the server, with the path of its API. It is requested from where the manager runs: by https, or at
	// an address that the manager's configuration allows (gates.prometheus).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://`
	Address string `json:"address"`
	// bearerTokenSecretRef names a token that is sent to the server, by https only.
	// +optional
	BearerTokenSecretRef *SecretKeyReference `json:"bearerTokenSecretRef,omitempty"`
	// caBundle holds the certificate authorities, in PEM, that verify the server's certificate. Default: those of the
	// system.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`
}

// PrometheusGate evaluates a query at the current time (an instant query of Prometheus' HTTP API).
type PrometheusGate struct {
	PrometheusServer `json:",inline"`
	// query in PromQL. ${ordinal}, ${pod}, ${statefulset} and ${namespace} are replaced by those that are checked.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// expression in CEL over result, the values of all series that the query has returned. The gate passes if it is
	// true.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// JobGate runs a Job once for each pod of a checked ordinal, and once at the end. It passes when the Job has
// completed. Such a Job may also do the work that is needed before an ordinal stops, or after it has started: leave a
// ring, hand over leadership, rebalance.
type JobGate struct {
	// side whose cluster runs it, in the namespace of its StatefulSet. Default: the side where the checked ordinal
	// runs; at the end, the side that all ordinals have moved to.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// spec of the Job. Its containers get the variables SLICESHIFT_POINT (BeforeStop, AfterStart, AtEnd),
	// SLICESHIFT_DIRECTION (Forward, Back), SLICESHIFT_SIDE (Source, Destination), SLICESHIFT_CLUSTER,
	// SLICESHIFT_NAMESPACE, SLICESHIFT_STATEFULSET, SLICESHIFT_POD and SLICESHIFT_ORDINAL. The last two are empty at
	// the end. Without activeDeadlineSeconds it may take 600 s; without a restartPolicy its pods are not restarted.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec JobSpec `json:"spec"`
}

// defaultJobSeconds is how long a Job may take without activeDeadlineSeconds.
const defaultJobSeconds = 600

// Deadline returns how long the Job may take, in seconds.
func (g JobGate) Deadline() int64 {
	if g.Spec.ActiveDeadlineSeconds == nil {
		return defaultJobSeconds
	}
	return *g.Spec.ActiveDeadlineSeconds
}

// Runs returns how long the gate's Job may take; 0 without one.
func (g HealthGate) Runs() time.Duration {
	if g.Job == nil {
		return 0
	}
	return time.Duration(min(g.Job.Deadline(), maxJobSeconds)) * time.Second
}

// maxJobSeconds limits the seconds used in calculations, so that no duration overflows.
const maxJobSeconds = 1 << 31
