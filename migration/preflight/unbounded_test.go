package preflight

import (
	"math"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/workload"
)

// hostile generates numbers that an attacker may write, and valid ones.
func hostile() *rapid.Generator[int32] {
	return rapid.OneOf(
		rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, plan.MaxOrdinals, plan.MaxOrdinals + 1, 100_000_000, math.MaxInt32 - 3, math.MaxInt32}),
		rapid.Int32(), rapid.Int32Range(0, 5),
	)
}

// sound reports whether a range is valid for an application.
func sound(start, replicas int32) bool {
	return start >= 0 && replicas >= 0 && replicas <= plan.MaxOrdinals && int64(start)+int64(replicas) <= math.MaxInt32
}

// allocated returns how many bytes do has allocated.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileNumbers: invalid numbers of ordinals are refused, and nothing is allocated in proportion to them. This
// holds also during a move, in the dry run, and if the numbers were recorded (S3).
func TestHostileNumbers(t *testing.T) {
	const little = 1 << 20
	rapid.Check(t, func(t *rapid.T) {
		s := plantest.Scenario{Replicas: 3, Prepared: true, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}.Build()
		s.Source.Set.Start, s.Source.Set.Replicas = hostile().Draw(t, "start"), hostile().Draw(t, "replicas")
		s.Destination.Set.Start, s.Destination.Set.Replicas = hostile().Draw(t, "destination start"), hostile().Draw(t, "destination replicas")
		s.Spec.Order = rapid.SampledFrom([]api.Order{api.HighestFirst, api.LowestFirst}).Draw(t, "order")
		s.Deleting = rapid.Bool().Draw(t, "deleting")
		s.Record.Completed = rapid.SampledFrom([]string{"", api.ReasonMoved, api.ReasonReleased}).Draw(t, "completed")
		refused := !sound(s.Source.Set.Start, s.Source.Set.Replicas) || !sound(s.Destination.Set.Start, s.Destination.Set.Replicas)
		if rapid.Bool().Draw(t, "begun") {
			base := &api.Baseline{
				Start: hostile().Draw(t, "base"), Replicas: hostile().Draw(t, "base replicas"), DestinationReplicas: hostile().Draw(t, "base destination"),
				Budget: 1, SourceUID: s.Source.Set.UID, SourceCluster: s.Source.ClusterID, DestinationCluster: s.Destination.ClusterID,
			}
			s.Record.Baseline = base
			refused = refused || !sound(base.Start, base.Replicas) || base.DestinationReplicas < 0 || base.DestinationReplicas > base.Replicas
		}
		if !refused {
			return // the time for a large application is not tested here
		}
		if took := allocated(func() { wantRefusedNumbers(t, s) }); took > little {
			t.Fatalf("%d bytes were allocated", took)
		}
	})
}

func wantRefusedNumbers(t *rapid.T, s plan.Snapshot) {
	t.Helper()
	decision := planner.Plan(s)
	if s.Record.Completed == "" && !s.Deleting && (decision.Effect != nil || decision.Record != nil || decision.Hold == nil || decision.Hold.Reason != api.ReasonOrdinalsUnbounded) {
		t.Fatalf("decided %+v", decision)
	}
	if decision.Effect != nil {
		t.Fatalf("wrote %s", decision.Effect)
	}
	if result := simulate.Run(s); result.Held == nil || len(result.Steps) > 0 {
		t.Fatalf("the dry run says %+v", result)
	}
	if n := len(world.OrdinalsOf(s, planner.Reads{})); n > 0 {
		t.Fatalf("%d ordinals are looked at", n)
	}
	found := planner.Preflight(s)
	if len(found) != 1 || found[0].Reason != api.ReasonOrdinalsUnbounded || found[0].Remedy == "" || !strings.Contains(found[0].Message, "shop/web") {
		t.Fatalf("found %+v", found)
	}
}

// TestHostileNumbersAreNotInspected: the numbers are checked first, because the other checks iterate over the
// ordinals (S3).
func TestHostileNumbersAreNotInspected(t *testing.T) {
	set := func(start, replicas int32, templates ...string) *appsv1.StatefulSet {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		set.Spec.Replicas, set.Spec.Ordinals = &replicas, &appsv1.StatefulSetOrdinals{Start: start}
		for _, name := range templates {
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return set
	}
	e := &Inspector{Pair: &endpoint.Pair{
		Source:      endpoint.Endpoint{Side: plan.SourceSide, Cluster: "east", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, ID: "1"},
		Destination: endpoint.Endpoint{Side: plan.DestinationSide, Cluster: "west", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, ID: "2"},
	}}
	for name, tc := range map[string]struct {
		source, destination *appsv1.StatefulSet
		want                bool
	}{
		"an application":           {set(0, 3, "data"), nil, false},
		"the most":                 {set(0, plan.MaxOrdinals), nil, false},
		"one more":                 {set(0, plan.MaxOrdinals+1), nil, true},
		"all there are":            {set(0, math.MaxInt32), nil, true},
		"negative":                 {set(0, -1), nil, true},
		"from a negative one":      {set(-1, 3), nil, true},
		"beyond the last one":      {set(math.MaxInt32-2, 3), nil, true},
		"up to the last one":       {set(math.MaxInt32-3, 3), nil, false},
		"of the destination":       {set(0, 3), set(3, math.MaxInt32), true},
		"together":                 {set(0, plan.MaxOrdinals), set(plan.MaxOrdinals, 1), true},
		"more claims than allowed": {set(0, plan.MaxClaims/2, "a", "b", "c"), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			took := allocated(func() {
				finding := e.uncountable(m, tc.source, tc.destination)
				if (finding != nil) != tc.want || tc.want && len(movingOrdinals(m, tc.source)) > plan.MaxOrdinals {
					t.Errorf("found %+v", finding)
				}
			})
			if tc.want && took > 32<<20 {
				t.Errorf("%d bytes were allocated", took)
			}
		})
	}
}
