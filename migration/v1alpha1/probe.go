package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProbeSpec says how it is measured what clients of the application see while it moves. What it comes to decides nothing.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.prometheus)",message="set exactly one of url and prometheus"
type ProbeSpec struct {
	// url that is requested by GET, five times a second, from where the migration is driven. A request succeeds if its answer has a status
	// from 200 to 299 and ends within two seconds. A redirect is a failure.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url,omitempty"`
	// prometheus has counted the requests of clients. It is queried every 15 s.
	// +optional
	Prometheus *PrometheusProbe `json:"prometheus,omitempty"`
}

// Asked is the address that is asked.
func (p ProbeSpec) Asked() string {
	if p.Prometheus != nil {
		return p.Prometheus.Address
	}
	return p.URL
}

// PrometheusProbe are queries in PromQL for what clients have seen since the migration began. In each ${since} stands for the time since
// then, as in increase(http_requests_total[${since}]), and ${namespace} and ${statefulset} for those of the source.
type PrometheusProbe struct {
	PrometheusServer `json:",inline"`
	// requests is how many there were.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Requests string `json:"requests"`
	// failed is how many of them failed; no series: none did.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed"`
	// p99 is within how many seconds 99 of 100 were answered.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	P99 string `json:"p99,omitempty"`
}

// ClientRequests are the requests of a probe in a time, and what they came to.
type ClientRequests struct {
	// requests that have ended.
	Requests int64 `json:"requests"`
	// failed is how many of them failed.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// unanswered requests had not ended when the figures were taken.
	// +optional
	Unanswered int64 `json:"unanswered,omitempty"`
	// p50Milliseconds, p99Milliseconds and longestMilliseconds are how long the requests took that succeeded. The first two are
	// rounded up.
	// +optional
	P50Milliseconds int64 `json:"p50Milliseconds,omitempty"`
	// +optional
	P99Milliseconds int64 `json:"p99Milliseconds,omitempty"`
	// +optional
	LongestMilliseconds int64 `json:"longestMilliseconds,omitempty"`
	// outageMilliseconds is the longest time without a request that succeeded: from the first of a row of failures to the next success.
	// +optional
	OutageMilliseconds int64 `json:"outageMilliseconds,omitempty"`
}

// ProbeStatus is what the requests of a probe came to since the migration began. It is written with what has changed anyway.
type ProbeStatus struct {
	ClientRequests `json:",inline"`
	// latencies count the requests that succeeded by how long they took, so that the next process can continue.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=40
	Latencies []int64 `json:"latencies,omitempty"`
	// moving are those that were sent while the ordinal on its way moves.
	// +optional
	Moving *ClientRequests `json:"moving,omitempty"`
	// message says why requests failed last, or why none is sent.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// failureTime is when the last request that failed was sent.
	// +optional
	FailureTime metav1.MicroTime `json:"failureTime,omitempty,omitzero"`
	// time is when the figures were taken.
	Time metav1.MicroTime `json:"time"`
}
