package versions

import "fmt"

// Span is a range of minor versions of Kubernetes 1, for example of those that have a controller. The zero Span is all.
type Span struct {
	// Since and Until are the first and the last minor version; 0: there is none.
	Since, Until uint
}

// Has reports whether a minor version is in the range.
func (s Span) Has(minor uint) bool { return minor >= s.Since && (s.Until == 0 || minor <= s.Until) }

// String returns the range as the tables of the documentation show it.
func (s Span) String() string {
	switch {
	case s.Since > 0 && s.Until > 0:
		return fmt.Sprintf("1.%d to 1.%d", s.Since, s.Until)
	case s.Since > 0:
		return fmt.Sprintf("from 1.%d on", s.Since)
	case s.Until > 0:
		return fmt.Sprintf("up to 1.%d", s.Until)
	}
	return "all"
}

// Expectations of the tests that differ by version. No test states a version of its own: it reads these, KnowsController
// or Gates. docs/install.md and docs/slices.md show them.
var (
	// MaxUnavailableBeta has the versions in which the feature gate MaxUnavailableStatefulSet is beta. Before it was alpha.
	MaxUnavailableBeta = Span{Since: 35}
	// MaxUnavailableOn has the versions in which that gate is on by default.
	MaxUnavailableOn = Span{Since: 37}
	// ImpersonationBounded has the versions that bound impersonation for each verb (ConstrainedImpersonation) by default.
	ImpersonationBounded = Span{Since: 36}
	// ParallelReplacesUnready has the versions whose StatefulSet controller, in Parallel with MaxUnavailableStatefulSet,
	// replaces all pods of an old revision that are not available at once.
	ParallelReplacesUnready = Span{Since: 37}
	// OnDeleteKeepsRevision has the versions whose StatefulSet controller never sets status.currentRevision with OnDelete
	// (kubernetes/kubernetes#136833).
	OnDeleteKeepsRevision = Span{Until: 36}
)

// NodePrograms has the versions whose module file also builds the programs of a node (tag "node"). An older kubelet does not
// compile with the cri-client that kwok needs.
var NodePrograms = Span{Since: 36}

// controllers are the controllers of the controller manager that only some versions have, of those that tests disable.
var controllers = map[string]Span{
	"cloud-node-lifecycle-controller":      {Until: 36},
	"node-route-controller":                {Until: 36},
	"service-lb-controller":                {Until: 36},
	"podgroup-protection-controller":       {Since: 36},
	"resourcepoolstatusrequest-controller": {Since: 36},
}

// KnowsController reports whether the controller manager of a minor version knows a controller. It refuses other names.
func KnowsController(name string, minor uint) bool { return controllers[name].Has(minor) }

// podResources are the feature gates that depend on PodLevelResources, and the versions that have them on by default.
var podResources = map[string]Span{
	"InPlacePodLevelResourcesVerticalScaling": {Since: 36},
	"PodLevelResourcesFixDefaulting":          {Since: 37},
	"PodLevelResourcesFixKubeletQOSClass":     {Since: 37},
}

// WithoutPodResources returns the settings of the feature gates without which an API server of a minor version drops the
// resources of whole pods. A gate that is on needs those that it depends on, and an API server refuses other names.
func WithoutPodResources(minor uint) []string {
	gates := []string{"PodLevelResources=false"}
	for gate, on := range podResources {
		if on.Has(minor) {
			gates = append(gates, gate+"=false")
		}
	}
	return gates
}
