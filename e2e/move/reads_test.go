package move

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// Limits for the reads of a migration of ten ordinals: before its first handoff begins, for one handoff, after
// the last handoff, and in total per ordinal. Reads of a pass without result are not counted; another writer
// has then changed an object. Neither are those of a pass after two such passes: it reads everything (planner.Lean).
// The StatefulSet and PodDisruptionBudget that the start creates get their first status from their controllers
// just then, and where many tests share the machine, one more pass of the start reads both StatefulSets again: 65 or 67.
const (
	readsAtStart    = 67
	readsOfAHandoff = 17
	readsAtEnd      = 42
	readsAnOrdinal  = 29
)

// TestReads: the number of an engine's reads is bounded, because it does not read the objects that it watches.
func TestReads(t *testing.T) {
	t.Parallel()
	const ordinals = 10
	v := harness.NewMove(t, harness.Usual(ordinals), harness.AcrossClusters)
	r := &readings{}
	mover, err := fixture.NewMover(v.Ctx, r.counting(v.From.RESTConfig()), r.counting(v.To.RESTConfig()), v.Migration)
	v.Must(err)
	v.Drive(mover, r.take)
	v.Audit()
	handoff := slices.Sorted(slices.Values(r.handoffs))[len(r.handoffs)/2]
	sum := r.start + r.end
	for _, n := range r.handoffs {
		sum += n
	}
	t.Logf("%d reads: %d at the start, %v for the handoffs, %d at the end, and %d for nothing", sum, r.start, r.handoffs, r.end, r.nothing)
	t.Logf("the reads of the start:\n%s", strings.Join(r.ofStart, "\n"))
	for _, i := range []int{0, len(r.ofHandoff) / 2, len(r.ofHandoff) - 1} {
		t.Logf("the reads of handoff %d:\n%s", i, strings.Join(r.ofHandoff[i], "\n"))
	}
	if r.start > readsAtStart || handoff > readsOfAHandoff || r.end > readsAtEnd || sum > ordinals*readsAnOrdinal {
		t.Errorf("at most %d, %d for a handoff, %d, and %d for each ordinal in all", readsAtStart, readsOfAHandoff, readsAtEnd, readsAnOrdinal)
	}
}

// readings counts reads, pass by pass.
type readings struct {
	// of is a part of the counted paths; if it is empty, all paths are counted.
	of                  string
	sent                atomic.Int64
	counted             int
	start, end, nothing int
	handoffs            []int
	// refused counts the consecutive passes whose write was refused.
	refused int
	// paths holds the reads of the current pass, ofStart those before the first handoff, and ofHandoff those of
	// each handoff.
	mutex     sync.Mutex
	paths     []string
	ofStart   []string
	ofHandoff [][]string
	// ended is true after the last handoff.
	ended bool
}

// counting returns a configuration whose reads are counted. It ignores watches, and discovery, which happens
// once for each connection.
func (r *readings) counting(config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			discovers := request.URL.Path == "/api" || request.URL.Path == "/apis"
			if request.Method == http.MethodGet && request.URL.Query().Get("watch") == "" && !discovers && strings.Contains(request.URL.Path, r.of) {
				r.sent.Add(1)
				r.note(request)
			}
			return next.RoundTrip(request)
		})
	})
	return counted
}

// note adds a read to the current pass.
func (r *readings) note(request *http.Request) {
	query := ""
	if request.URL.RawQuery != "" {
		query = "?" + request.URL.RawQuery
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.paths = append(r.paths, request.URL.Host+request.URL.Path+query)
}

// named prefixes each read with the write of its pass.
func (r *readings) named(paths []string, outcome engine.Outcome) []string {
	purpose := "a record"
	if effect := outcome.Decision.Effect; effect != nil {
		purpose = string(effect.Side) + " " + string(effect.Verb)
		if effect.Volume.Verb != "" {
			purpose += " " + string(effect.Volume.Verb)
		}
	}
	for i := range paths {
		paths[i] = purpose + ": " + paths[i]
	}
	return paths
}

// passed returns the reads of the pass that has just ended.
func (r *readings) passed() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	paths := r.paths
	r.paths = nil
	return paths
}

// roundTripper adapts a function to http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// take adds the reads of a pass to the totals.
func (r *readings) take(_ *api.Migration, outcome engine.Outcome) error {
	sent := int(r.sent.Load())
	n := sent - r.counted
	r.counted = sent
	record, paths := outcome.Decision.Record, r.passed()
	wide := r.refused > 1
	if r.refused++; outcome.Decision.Effect == nil || outcome.Wrote {
		r.refused = 0
	}
	switch {
	case wide || !outcome.Wrote && record == nil && !outcome.Done:
		r.nothing += n
	case r.ended:
		r.end += n
	case len(r.handoffs) == 0:
		r.start += n
		r.ofStart = append(r.ofStart, r.named(paths, outcome)...)
	default:
		r.handoffs[len(r.handoffs)-1] += n
		r.ofHandoff[len(r.ofHandoff)-1] = append(r.ofHandoff[len(r.ofHandoff)-1], r.named(paths, outcome)...)
	}
	switch {
	case outcome.Finished == nil && (len(r.handoffs) > 0 || record == nil || record.Handoff == nil):
	case record.Handoff == nil:
		r.ended = true
	default:
		r.handoffs, r.ofHandoff = append(r.handoffs, 0), append(r.ofHandoff, nil)
	}
	return nil
}
