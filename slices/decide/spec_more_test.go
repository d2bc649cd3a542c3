package decide

import (
	"math"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestScalingIsBounded: scaleStrategy limits a Parallel set, and allows the creation of at least one pod.
func TestScalingIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		policy appsv1.PodManagementPolicyType
		scale  *api.ScaleStrategy
		want   int32
	}{
		"no bound":              {appsv1.ParallelPodManagement, nil, 0},
		"an empty one":          {appsv1.ParallelPodManagement, &api.ScaleStrategy{}, 0},
		"none":                  {appsv1.ParallelPodManagement, &api.ScaleStrategy{MaxUnavailable: new(intstr.FromInt32(0))}, 1},
		"two":                   {appsv1.ParallelPodManagement, &api.ScaleStrategy{MaxUnavailable: new(intstr.FromInt32(2))}, 2},
		"one after the other":   {appsv1.OrderedReadyPodManagement, &api.ScaleStrategy{MaxUnavailable: new(intstr.FromInt32(2))}, 0},
		"an empty one, in turn": {appsv1.OrderedReadyPodManagement, &api.ScaleStrategy{}, 0},
	} {
		got := specOf(t, func(set *api.StatefulSet) { set.Spec.PodManagementPolicy, set.Spec.ScaleStrategy = tc.policy, tc.scale })
		if got.ScaleMaxUnavailable != tc.want {
			t.Errorf("%s: %d, want %d", name, got.ScaleMaxUnavailable, tc.want)
		}
	}
}

// TestRollingDefaults: an empty rollingUpdate block means its defaults. A set is paused if either field is set.
func TestRollingDefaults(t *testing.T) {
	got := specOf(t, func(set *api.StatefulSet) { set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{} })
	if got.Partition != 0 || got.MinReady != 0 || got.Paused || got.Unordered || got.MaxSurge != 0 || got.MaxUnavailable != 1 {
		t.Errorf("got %+v", got)
	}
	for _, tc := range []struct{ set, rolling, want bool }{{true, false, true}, {false, true, true}, {true, true, true}} {
		got := specOf(t, func(set *api.StatefulSet) {
			set.Spec.Paused, set.Spec.UpdateStrategy.RollingUpdate = tc.set, &api.RollingUpdateStrategy{Paused: tc.rolling}
		})
		if got.Paused != tc.want {
			t.Errorf("%+v: paused %t", tc, got.Paused)
		}
	}
	by := &api.UnorderedUpdate{PriorityStrategy: &api.PriorityStrategy{}}
	for name, tc := range map[string]struct {
		policy    appsv1.PodManagementPolicyType
		unordered *api.UnorderedUpdate
		want      bool
	}{
		"by priority":            {appsv1.ParallelPodManagement, by, true},
		"by nothing":             {appsv1.ParallelPodManagement, &api.UnorderedUpdate{}, false},
		"not asked for":          {appsv1.ParallelPodManagement, nil, false},
		"one after the other":    {appsv1.OrderedReadyPodManagement, by, false},
		"in turn, by no order":   {appsv1.OrderedReadyPodManagement, &api.UnorderedUpdate{}, false},
		"in turn, as in apps/v1": {appsv1.OrderedReadyPodManagement, nil, false},
	} {
		got := specOf(t, func(set *api.StatefulSet) {
			set.Spec.PodManagementPolicy, set.Spec.UpdateStrategy.RollingUpdate = tc.policy, &api.RollingUpdateStrategy{UnorderedUpdate: tc.unordered}
		})
		if got.Unordered != tc.want {
			t.Errorf("%s: unordered %t", name, got.Unordered)
		}
	}
}

// TestNumbersAtTheirEnds: the largest numbers are accepted unchanged, and larger ones are refused.
func TestNumbersAtTheirEnds(t *testing.T) {
	if n, err := roundedUp(new(intstr.FromString("100%")), math.MaxInt32); err != nil || n != math.MaxInt32 {
		t.Errorf("all of the most: %d, %v", n, err)
	}
	if n, err := roundedUp(new(intstr.FromString("200%")), 1<<30); err == nil {
		t.Errorf("one more than the most is %d", n)
	}
	apart, err := reservedOf([]intstr.IntOrString{intstr.FromInt32(4), intstr.FromInt32(6)})
	if err != nil || !slices.Equal(apart, []Range{{4, 4}, {6, 6}}) {
		t.Errorf("4 and 6 are %v, %v", apart, err)
	}
	for _, text := range []string{"3000000000", "1-3000000000"} {
		if got, err := rangeOf(new(intstr.FromString(text))); err == nil {
			t.Errorf("%s is read as %v", text, got)
		}
	}
	for text, want := range map[string]int64{"web-5000000000000000000": 5e18, "web-99999999999999999999": math.MaxInt64, "web-7": 7, "web": 0} {
		if got := trailingNumber(text); got != want {
			t.Errorf("%s ends in %d, want %d", text, got, want)
		}
	}
}

// TestSurges: surge pods run only during a rolling update, and not during a migration.
func TestSurges(t *testing.T) {
	base := Spec{Strategy: api.RollingUpdate, Replicas: 2, MaxSurge: 1}
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   []int32
	}{
		"one":                  {func(*Spec) {}, []int32{2}},
		"none is allowed":      {func(s *Spec) { s.MaxSurge = 0 }, nil},
		"another strategy":     {func(s *Spec) { s.Strategy = api.OnDelete }, nil},
		"a migration":          {func(s *Spec) { s.Migrating = true }, nil},
		"X-23 a split":         {func(s *Spec) { s.Split = true }, nil},
		"nothing to stand for": {func(s *Spec) { s.Replicas = 0 }, nil},
	} {
		spec := base
		tc.change(&spec)
		if got := (Input{Spec: spec}).Surges(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestSplit: a slice of a split application updates without surge pods.
func TestSplit(t *testing.T) {
	t.Run("X-23 maxSurge counts for nothing, and the pods that wait say so", func(t *testing.T) {
		set := namedSet("web", nil)
		set.Annotations = map[string]string{api.SplitAnnotationKey: "true"}
		set.Spec.Replicas = new(int32(2))
		set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}
		spec, err := SpecOf(set)
		if err != nil {
			t.Fatal(err)
		}
		in := slice(2, "a a")
		in.Spec = spec
		in.Pods = podsOf(0, "a a")
		d := Decide(in)
		if got := short(d); got != "Delete 1" {
			t.Errorf("decided %q", got)
		}
		if len(d.Held) != 1 || !strings.Contains(d.Held[0].Message, "annotation "+api.SplitAnnotationKey) {
			t.Errorf("held %+v", d.Held)
		}
	})
}

// TestSplitIsKept: a slice that was replaced without its annotations keeps to its range, because its status says that it is
// split (I1). This ends when the annotation is "false".
func TestSplitIsKept(t *testing.T) {
	told := []metav1.Condition{{Type: api.ConditionSplit, Status: metav1.ConditionTrue}}
	for name, tc := range map[string]struct {
		marks map[string]string
		told  []metav1.Condition
		want  bool
	}{
		"nobody has said so":        {nil, nil, false},
		"a migration drives it":     {map[string]string{api.MigratingAnnotationKey: "true"}, nil, true},
		"a migration has split it":  {map[string]string{api.SplitAnnotationKey: "true"}, nil, true},
		"replaced":                  {nil, told, true},
		"joined":                    {map[string]string{api.SplitAnnotationKey: api.NotSplit}, told, false},
		"joined, and driven again":  {map[string]string{api.SplitAnnotationKey: api.NotSplit, api.MigratingAnnotationKey: "true"}, told, true},
		"the status tells of joint": {nil, []metav1.Condition{{Type: api.ConditionSplit, Status: metav1.ConditionFalse}}, false},
	} {
		set := namedSet("web", nil)
		set.Annotations, set.Status.Conditions = tc.marks, tc.told
		set.Spec.Replicas = new(int32(2))
		set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}
		spec, err := SpecOf(set)
		if err != nil {
			t.Fatal(err)
		}
		if _, surges := spec.Above(); spec.Split != tc.want || surges == tc.want {
			t.Errorf("%s: split %t, surges %t", name, spec.Split, surges)
		}
	}
}

// TestSurgesBesideClaims: an ordinal with foreign claims is skipped. An existing surge pod stays, even if a lower ordinal
// becomes free.
func TestSurgesBesideClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		most  int32
		taken []int32
		pods  []Pod
		want  []int32
	}{
		"one is taken":                 {1, []int32{2}, nil, []int32{3}},
		"some are":                     {2, []int32{2, 4}, nil, []int32{3, 5}},
		"beyond a reserved one":        {2, []int32{2}, []Pod{{Ordinal: 9}}, []int32{3, 4}},
		"one stands in above":          {1, nil, []Pod{{Ordinal: 3, StandIn: true}}, []int32{3}},
		"and there is room for others": {2, nil, []Pod{{Ordinal: 4, StandIn: true}}, []int32{2, 4}},
		"and for fewer":                {1, nil, []Pod{{Ordinal: 4, StandIn: true}, {Ordinal: 2, StandIn: true}}, []int32{2}},
		"it is the first one":          {2, nil, []Pod{{Ordinal: 2, StandIn: true}}, []int32{2, 3}},
		"some are the first ones":      {3, nil, []Pod{{Ordinal: 2, StandIn: true}, {Ordinal: 3, StandIn: true}}, []int32{2, 3, 4}},
		"one in the range is not one":  {1, nil, []Pod{{Ordinal: 1, StandIn: true}}, []int32{2}},
		"nor a reserved one":           {1, nil, []Pod{{Ordinal: 6, StandIn: true}}, []int32{2}},
	} {
		t.Run("X-12 "+name, func(t *testing.T) {
			in := Input{Spec: Spec{Strategy: api.RollingUpdate, Replicas: 2, MaxSurge: tc.most, Reserved: []Range{{6, 6}}}, Taken: tc.taken, Pods: tc.pods}
			if got := in.Surges(); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
