package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GateScheme is how a pod is spoken to.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type GateScheme string

// The schemes.
const (
	GateHTTP GateScheme = "HTTP"
	// GateHTTPS: the pod's certificate is not verified, as for a kubelet's probe.
	GateHTTPS GateScheme = "HTTPS"
)

// GateSecretReference names one key of a Secret in the namespace of the StatefulSet whose pod is asked, in the
// pod's cluster. It is read anew for each question, under the rights by which the pod is asked, and what it holds is
// sent to the pod and shown nowhere.
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

// KeyOrDefault is the key, when no API server has filled it in.
func (r GateSecretReference) KeyOrDefault() string { return cmp.Or(r.Key, "value") }

// GateHeader is one header of a request.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.secretRef))",message="a header has a value or a secretRef, not both"
// +kubebuilder:validation:XValidation:rule="self.name.lowerAscii() != 'authorization' || has(self.secretRef)",message="Authorization is a credential: name the Secret that holds it in secretRef, or use bearerTokenSecretRef"
type GateHeader struct {
	// name of the header. Those that say who asks, or how the connection is used, are refused: the
	// request goes to the API server first. Authorization is sent with a secretRef.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	Name string `json:"name"`
	// value of it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
	// secretRef names the Secret that holds the whole value, in place of value.
	// +optional
	SecretRef *GateSecretReference `json:"secretRef,omitempty"`
}

// HTTPGate asks an endpoint of a pod with GET, through the API server of the pod's cluster
// (subresource pods/proxy), so that it works wherever the manager runs. Redirects are not followed.
// What a Secret holds is sent through a connection to the port of the pod itself
// (subresource pods/portforward): it is encrypted on its way to the pod's node, and an API server takes
// Authorization for its own. The pod is called localhost then.
//
// +kubebuilder:validation:XValidation:rule="!has(self.bearerTokenSecretRef) || !has(self.headers) || !self.headers.exists(h, h.name.lowerAscii() == 'authorization')",message="bearerTokenSecretRef is the header Authorization: use one of the two"
type HTTPGate struct {
	// scheme by which the API server speaks to the pod.
	// +optional
	// +kubebuilder:default=HTTP
	Scheme GateScheme `json:"scheme,omitempty"`
	// port of the pod, by its number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// path of the endpoint, with a query where it needs one. Default: /.
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
	// bearerTokenSecretRef names a token that is shown to the pod (Authorization: Bearer).
	// +optional
	BearerTokenSecretRef *GateSecretReference `json:"bearerTokenSecretRef,omitempty"`
	// expectedStatus are the HTTP codes that are good answers. Default: 200 to 299.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	ExpectedStatus []int32 `json:"expectedStatus,omitempty"`
	// bodyContains is a text that the first 64 KiB of a good answer hold. Default: any body is good.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	BodyContains string `json:"bodyContains,omitempty"`
}

// Secrets are those whose values are sent to the pod.
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

// GRPCGate asks the health service of a pod (grpc.health.v1.Health/Check, without TLS), through the
// API server of the pod's cluster (subresource pods/portforward).
type GRPCGate struct {
	// port of the pod, by its number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// service whose health is asked for. Default: that of the whole server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Service string `json:"service,omitempty"`
}

// GateObjects says which objects an expression is about. In name and namespace ${ordinal}, ${pod},
// ${statefulset} and ${namespace} stand for those of the side and ordinal that is asked about.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="either name or selector says which objects"
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
	// side whose cluster has them. Default: where the ordinal that is asked about runs; at the end,
	// where all of them have come to.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// namespace of the objects. Default: that of the side's StatefulSet. A kind without namespaces
	// has none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// name of the one object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// selector of several, by their labels: at most 500. An empty one selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// CELGate evaluates an expression over objects of one side.
type CELGate struct {
	// objects that are read for it, live.
	// +required
	Objects GateObjects `json:"objects"`
	// expression in CEL, as Kubernetes has it. It is true when the gate may pass. It knows object
	// (the one by its name, null when it does not exist), objects (all that were selected), ordinal
	// and pod (null and empty at the end), and side (Source or Destination).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// PrometheusServer is a Prometheus, and how it is reached.
type PrometheusServer struct {
	// address of the server, with the path that its API is below. It is asked from where the manager
	// runs: by https, or an address that its settings name (gates.prometheus).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://`
	Address string `json:"address"`
	// bearerTokenSecretRef names a token that is shown to the server, by https only.
	// +optional
	BearerTokenSecretRef *SecretKeyReference `json:"bearerTokenSecretRef,omitempty"`
	// caBundle are the authorities, in PEM, that the server's certificate is verified with. Default:
	// those of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`
}

// PrometheusGate evaluates a query now (an instant query of Prometheus' HTTP API).
type PrometheusGate struct {
	PrometheusServer `json:",inline"`
	// query in PromQL. ${ordinal}, ${pod}, ${statefulset} and ${namespace} stand for those that it is
	// asked about.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// expression in CEL over result, the values of all series that the query has found. It is true
	// when the gate may pass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// JobGate runs a Job once for each pod of an ordinal that it is asked about, and once at the end: it passes when
// the Job has completed. So it is also what has to be done before an ordinal stops, or after it has
// started: leave a ring, hand over leadership, rebalance.
type JobGate struct {
	// side whose cluster runs it, in the namespace of its StatefulSet. Default: where the ordinal that
	// is asked about runs; at the end, where all of them have come to.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// spec of the Job. Its containers get the variables SLICESHIFT_POINT (BeforeStop, AfterStart,
	// AtEnd), SLICESHIFT_DIRECTION (Forward, Back), SLICESHIFT_SIDE (Source, Destination),
	// SLICESHIFT_CLUSTER, SLICESHIFT_NAMESPACE, SLICESHIFT_STATEFULSET, SLICESHIFT_POD and
	// SLICESHIFT_ORDINAL, the last two empty at the end. Without activeDeadlineSeconds it may take 600 s,
	// without a restartPolicy its pods are not restarted.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec JobSpec `json:"spec"`
}

// defaultJobSeconds is how long a Job may take that does not say it.
const defaultJobSeconds = 600

// Deadline is how long the Job may take, in seconds.
func (g JobGate) Deadline() int64 {
	if g.Spec.ActiveDeadlineSeconds == nil {
		return defaultJobSeconds
	}
	return *g.Spec.ActiveDeadlineSeconds
}

// Runs is how long the gate's Job may take; 0: it has none.
func (g HealthGate) Runs() time.Duration {
	if g.Job == nil {
		return 0
	}
	return time.Duration(min(g.Job.Deadline(), maxJobSeconds)) * time.Second
}

// maxJobSeconds bounds what is counted with: no time overflows.
const maxJobSeconds = 1 << 31
