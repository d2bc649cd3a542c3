package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProbeSpec configures how the requests of clients are measured during the move. The measurements decide nothing.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.prometheus)",message="set exactly one of url and prometheus"
type ProbeSpec struct {
	// url that is requested by GET, five times a second, by the process that drives the migration. A request succeeds
	// if its response has a status from 200 to 299 and ends within two seconds. A redirect is a failure.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url,omitempty"`
	// prometheus is the Prometheus that counts the requests of clients. It is queried every 15 s.
	// +optional
	Prometheus *PrometheusProbe `json:"prometheus,omitempty"`
}

// Asked returns the address of the probe.
func (p ProbeSpec) Asked() string {
	if p.Prometheus != nil {
		return p.Prometheus.Address
	}
	return p.URL
}

// PrometheusProbe holds PromQL queries for the requests of clients since the migration started. In each query
// ${since} is replaced by the time since then, as in increase(http_requests_total[${since}]). ${namespace} and
// ${statefulset} are replaced by those of the source.
type PrometheusProbe struct {
	PrometheusServer `json:",inline"`
	// requests is the query for the number of requests.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Requests string `json:"requests"`
	// failed is the query for the number of failed requests; no series means that none failed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed"`
	// p99 is the query for the 99th percentile of the response time in seconds.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	P99 string `json:"p99,omitempty"`
}

// ClientRequests holds the results of a probe's requests over a time.
type ClientRequests struct {
	// requests is how many requests have ended.
	Requests int64 `json:"requests"`
	// failed is how many of them failed.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// unanswered is how many requests had not ended when the figures were taken.
	// +optional
	Unanswered int64 `json:"unanswered,omitempty"`
	// p50Milliseconds, p99Milliseconds and longestMilliseconds are durations of successful requests. The first two
	// are rounded up.
	// +optional
	P50Milliseconds int64 `json:"p50Milliseconds,omitempty"`
	// +optional
	P99Milliseconds int64 `json:"p99Milliseconds,omitempty"`
	// +optional
	LongestMilliseconds int64 `json:"longestMilliseconds,omitempty"`
	// outageMilliseconds is the longest time without a successful request, from the first failure to the next
	// success.
	// +optional
	OutageMilliseconds int64 `json:"outageMilliseconds,omitempty"`
}

// ProbeStatus holds the results of a probe since the migration started. It is written only together with other
// changes of the status.
type ProbeStatus struct {
	ClientRequests `json:",inline"`
	// latencies counts the successful requests by duration, so that the next process can continue.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=40
	Latencies []int64 `json:"latencies,omitempty"`
	// moving counts the requests that were sent during the handoff in progress.
	// +optional
	Moving *ClientRequests `json:"moving,omitempty"`
	// message is the error of the last failed request, or the reason why none is sent.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// failureTime is when the last failed request was sent.
	// +optional
	FailureTime metav1.MicroTime `json:"failureTime,omitempty,omitzero"`
	// time is when the figures were taken.
	Time metav1.MicroTime `json:"time"`
}
