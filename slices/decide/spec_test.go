package decide

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

func specOf(t *testing.T, change func(*api.StatefulSet)) Spec {
	t.Helper()
	set := &api.StatefulSet{}
	change(set)
	spec, err := SpecOf(set)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestSpecDefaults: an object without defaults behaves like an object with them.
func TestSpecDefaults(t *testing.T) {
	t.Run("S-004: nothing is said", func(t *testing.T) {
		got := specOf(t, func(*api.StatefulSet) {})
		want := Spec{
			Replicas: 1, Strategy: api.RollingUpdate, MaxUnavailable: 1, Policy: api.ReCreate, OnFailure: api.Halt,
			Deadline: 600 * time.Second, Tell: api.AnnounceIfRead,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestTellOf: a set with a grace period or a preDelete hook writes the reason on all of its pods, unless the policy is
// Never.
func TestTellOf(t *testing.T) {
	nothing := func(*api.StatefulSet) {}
	grace := func(set *api.StatefulSet) { set.Spec.TerminationReasonGraceSeconds = 1 }
	preDelete := func(set *api.StatefulSet) { set.Spec.Lifecycle = &api.Lifecycle{PreDelete: &api.LifecycleHook{}} }
	inPlaceUpdate := func(set *api.StatefulSet) {
		set.Spec.Lifecycle = &api.Lifecycle{InPlaceUpdate: &api.LifecycleHook{}}
	}
	for i, tc := range []struct {
		policy api.TerminationReasonPolicy
		asks   func(*api.StatefulSet)
		want   api.TerminationReasonPolicy
	}{
		{"", nothing, api.AnnounceIfRead},
		{api.AnnounceIfRead, nothing, api.AnnounceIfRead},
		{api.AnnounceIfRead, grace, api.AnnounceAlways},
		{api.AnnounceIfRead, preDelete, api.AnnounceAlways},
		{api.AnnounceIfRead, inPlaceUpdate, api.AnnounceIfRead},
		{api.AnnounceAlways, nothing, api.AnnounceAlways},
		{api.AnnounceNever, nothing, api.AnnounceNever},
		{api.AnnounceNever, grace, api.AnnounceNever},
	} {
		got := specOf(t, func(set *api.StatefulSet) {
			set.Spec.TerminationReasonPolicy = tc.policy
			tc.asks(set)
		}).Tell
		if got != tc.want {
			t.Errorf("row %d: %q tells %q, want %q", i, tc.policy, got, tc.want)
		}
	}
}

// TestShareOf: a share limits maxUnavailable. An invalid share allows no disruption.
func TestShareOf(t *testing.T) {
	for text, want := range map[string]int32{"0": 0, "1": 1, "2": 2, "9": 3, "-1": 0, "": 0, "many": 0, "4294967296": 0} {
		set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.MigratingAnnotationKey: "true", api.MaxUnavailableAnnotationKey: text}}}
		set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxUnavailable: new(intstr.FromInt32(3))}
		spec, err := SpecOf(set)
		if got := spec.MostUnavailable(); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

// TestRecreateBesideAMigration: Recreate is paused during a migration, because stopping all pods at once exceeds any budget.
func TestRecreateBesideAMigration(t *testing.T) {
	for annotation, waits := range map[string]bool{api.MigratingAnnotationKey: true, "another": false} {
		set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: "true"}}}
		set.Spec.UpdateStrategy.Type = api.Recreate
		if spec, err := SpecOf(set); err != nil || spec.Paused != waits {
			t.Errorf("with annotation %s: waits: %t, %v", annotation, spec.Paused, err)
		}
	}
}

func TestSpecOf(t *testing.T) {
	now := metav1.Now()
	set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{api.MigratingAnnotationKey: "true"}, DeletionTimestamp: &now, Finalizers: []string{"orphan"},
	}}
	set.Spec = api.StatefulSetSpec{
		Replicas: new(int32(10)), PodManagementPolicy: appsv1.ParallelPodManagement, MinReadySeconds: 5,
		Ordinals: &api.Ordinals{Start: 3}, ProgressDeadlineSeconds: new(int32(0)), TerminationReasonGraceSeconds: 9,
		ReserveOrdinals:         []intstr.IntOrString{intstr.FromInt32(4), intstr.FromString("5-7"), intstr.FromString("20"), intstr.FromInt32(4)},
		ScaleStrategy:           &api.ScaleStrategy{MaxUnavailable: new(intstr.FromString("11%"))},
		TerminationReasonPolicy: api.AnnounceNever,
		UpdateStrategy: api.StatefulSetUpdateStrategy{RollingUpdate: &api.RollingUpdateStrategy{
			Partition: new(int32(8)), MaxUnavailable: new(intstr.FromString("0%")), MaxSurge: new(intstr.FromString("21%")),
			MinReadySeconds: new(int32(7)), Paused: true, PodUpdatePolicy: api.InPlaceOnly, OnFailure: api.Rollback,
			InPlaceUpdateStrategy: &api.InPlaceUpdateStrategy{GracePeriodSeconds: 4},
			UnorderedUpdate:       &api.UnorderedUpdate{PriorityStrategy: &api.PriorityStrategy{}},
			Budget:                api.BudgetPodDisruptionBudget, TopologyKey: "topology.kubernetes.io/zone",
		}},
	}
	got, err := SpecOf(set)
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		MaxUnavailable: 1, // a migration does not allow surge pods
		Start:          3, Replicas: 10, Reserved: []Range{{4, 7}, {20, 20}}, Parallel: true, Strategy: api.RollingUpdate, Unordered: true,
		Partition: 8, MaxSurge: 3, ScaleMaxUnavailable: 2, MinReady: 7 * time.Second, Paused: true, Policy: api.InPlaceOnly,
		Evicts: true, TopologyKey: "topology.kubernetes.io/zone",
		InPlaceGrace: 4 * time.Second, OnFailure: api.Rollback, Tell: api.AnnounceNever, TerminationGrace: 9 * time.Second, Migrating: true, Split: true, Deleting: true, DeletingSince: now.Time, Orphaning: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnFailure: each rolling strategy has its own onFailure. A block of another strategy has no effect.
func TestOnFailure(t *testing.T) {
	back := &api.RollingUpdateStrategy{OnFailure: api.Rollback}
	for name, c := range map[string]struct {
		strategy api.StatefulSetUpdateStrategy
		want     api.OnFailure
	}{
		"U-04 Recreate":                {api.StatefulSetUpdateStrategy{Type: api.Recreate, Recreate: &api.RecreateStrategy{OnFailure: api.Rollback}}, api.Rollback},
		"U-04 Recreate, nothing said":  {api.StatefulSetUpdateStrategy{Type: api.Recreate, Recreate: &api.RecreateStrategy{}}, api.Halt},
		"U-04 Recreate without":        {api.StatefulSetUpdateStrategy{Type: api.Recreate}, api.Halt},
		"U-04 Recreate, of another":    {api.StatefulSetUpdateStrategy{Type: api.Recreate, RollingUpdate: back}, api.Halt},
		"U-04 RollingUpdate":           {api.StatefulSetUpdateStrategy{RollingUpdate: back}, api.Rollback},
		"U-04 RollingUpdate, of other": {api.StatefulSetUpdateStrategy{Recreate: &api.RecreateStrategy{OnFailure: api.Rollback}}, api.Halt},
	} {
		t.Run(name, func(t *testing.T) {
			set := namedSet("web", nil)
			set.Spec.UpdateStrategy = c.strategy
			if got, err := SpecOf(set); err != nil || got.OnFailure != c.want {
				t.Errorf("%s, %v", got.OnFailure, err)
			}
		})
	}
}

func TestMaxUnavailable(t *testing.T) {
	for _, c := range []struct {
		name              string
		replicas          int32
		unavailable       *intstr.IntOrString
		surge             *intstr.IntOrString
		want, wantedSurge int32
	}{
		{name: "K-068 none", replicas: 5, want: 1},
		{name: "K-068 three", replicas: 5, unavailable: new(intstr.FromInt32(3)), want: 3},
		{name: "K-068 zero", replicas: 5, unavailable: new(intstr.FromInt32(0)), want: 1},
		{name: "K-068 rounded up", replicas: 25, unavailable: new(intstr.FromString("10%")), want: 3},
		{name: "K-068 half of five", replicas: 5, unavailable: new(intstr.FromString("50%")), want: 3},
		{name: "K-068 all", replicas: 5, unavailable: new(intstr.FromString("100%")), want: 5},
		{name: "K-068 of nothing", replicas: 0, unavailable: new(intstr.FromString("1%")), want: 1},
		{name: "a fifth of ten", replicas: 10, unavailable: new(intstr.FromString("20%")), want: 2},
		{name: "D-010 half of three", replicas: 3, unavailable: new(intstr.FromString("50%")), want: 2},
		{name: "D-010 zero and zero", replicas: 3, unavailable: new(intstr.FromInt32(0)), surge: new(intstr.FromInt32(0)), want: 1},
		{name: "D-010 surge", replicas: 2, unavailable: new(intstr.FromInt32(0)), surge: new(intstr.FromString("100%")), wantedSurge: 2},
		{name: "D-041 S-016 rounded up", replicas: 10, unavailable: new(intstr.FromString("39%")), surge: new(intstr.FromString("39%")), want: 4, wantedSurge: 4},
		{name: "no more surge than replicas", replicas: 2, surge: new(intstr.FromInt32(math.MaxInt32)), want: 1, wantedSurge: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := specOf(t, func(set *api.StatefulSet) {
				set.Spec.Replicas = &c.replicas
				set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxUnavailable: c.unavailable, MaxSurge: c.surge}
			})
			if got.MaxUnavailable != c.want || got.MaxSurge != c.wantedSurge {
				t.Errorf("maxUnavailable %d, maxSurge %d; want %d, %d", got.MaxUnavailable, got.MaxSurge, c.want, c.wantedSurge)
			}
		})
	}
}

func TestSpecRefuses(t *testing.T) {
	rolling := func(r api.RollingUpdateStrategy) api.StatefulSetSpec {
		return api.StatefulSetSpec{UpdateStrategy: api.StatefulSetUpdateStrategy{RollingUpdate: &r}}
	}
	reserve := func(text string) api.StatefulSetSpec {
		return api.StatefulSetSpec{ReserveOrdinals: []intstr.IntOrString{intstr.FromString(text)}}
	}
	for name, spec := range map[string]api.StatefulSetSpec{
		"maxUnavailable":        rolling(api.RollingUpdateStrategy{MaxUnavailable: new(intstr.FromString("many"))}),
		"maxUnavailable below":  rolling(api.RollingUpdateStrategy{MaxUnavailable: new(intstr.FromInt32(-1))}),
		"maxSurge":              rolling(api.RollingUpdateStrategy{MaxSurge: new(intstr.FromString("5"))}),
		"scaleStrategy":         {PodManagementPolicy: appsv1.ParallelPodManagement, ScaleStrategy: &api.ScaleStrategy{MaxUnavailable: new(intstr.FromString("x"))}},
		"R-010 a negative one":  {ReserveOrdinals: []intstr.IntOrString{intstr.FromInt32(-1)}},
		"R-010 no number":       reserve("x"),
		"R-010 half a range":    reserve("3-"),
		"R-010 the wrong way":   reserve("5-3"),
		"R-010 beyond ordinals": reserve("1-2147483648"),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := SpecOf(&api.StatefulSet{Spec: spec}); err == nil {
				t.Errorf("accepted: %+v", got)
			}
		})
	}
}

// TestIgnoredBlock: the rollingUpdate block has no effect with another strategy.
func TestIgnoredBlock(t *testing.T) {
	got := specOf(t, func(set *api.StatefulSet) {
		set.Spec.UpdateStrategy = api.StatefulSetUpdateStrategy{Type: api.OnDelete, RollingUpdate: &api.RollingUpdateStrategy{
			Partition: new(int32(8)), Paused: true, MaxSurge: new(intstr.FromInt32(1)),
		}}
	})
	if got.Partition != 0 || got.Paused || got.MaxSurge != 0 {
		t.Errorf("%+v", got)
	}
}

func TestOrdinals(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
		want []int32
	}{
		{"K-114 from 0", Spec{Replicas: 3}, []int32{0, 1, 2}},
		{"K-114 from 4", Spec{Start: 4, Replicas: 4}, []int32{4, 5, 6, 7}},
		{"K-114 seven from 2", Spec{Start: 2, Replicas: 7}, []int32{2, 3, 4, 5, 6, 7, 8}},
		{"R-004 reserved, from 0", Spec{Replicas: 4, Reserved: []Range{{1, 1}, {3, 3}}}, []int32{0, 2, 4, 5}},
		{"R-004 from 2", Spec{Start: 2, Replicas: 4, Reserved: []Range{{1, 1}, {3, 3}}}, []int32{2, 4, 5, 6}},
		{"R-004 from 3", Spec{Start: 3, Replicas: 4, Reserved: []Range{{1, 1}, {3, 3}}}, []int32{4, 5, 6, 7}},
		{"R-004 from 4, below it", Spec{Start: 4, Replicas: 4, Reserved: []Range{{1, 1}, {3, 3}}}, []int32{4, 5, 6, 7}},
		{"R-007", Spec{Start: 2, Replicas: 3, Reserved: []Range{{0, 0}, {2, 5}}}, []int32{6, 7, 8}},
		{"R-008", Spec{Start: 1, Replicas: 4}, []int32{1, 2, 3, 4}},
		{"R-008 reserved", Spec{Start: 1, Replicas: 4, Reserved: []Range{{1, 1}, {3, 4}}}, []int32{2, 5, 6, 7}},
		{"R-103 a range", Spec{Replicas: 3, Reserved: []Range{{0, 0}, {2, 5}}}, []int32{1, 6, 7}},
		{"R-104", Spec{Replicas: 5, Reserved: []Range{{1, 1}, {3, 5}}}, []int32{0, 2, 6, 7, 8}},
		{"S-012 the first of two slices", Spec{Replicas: 3}, []int32{0, 1, 2}},
		{"S-012 the second", Spec{Start: 3, Replicas: 2}, []int32{3, 4}},
		{"S-013 counted from 1", Spec{Start: 1, Replicas: 3}, []int32{1, 2, 3}},
		{"none", Spec{Start: 3}, nil},
		{"a range that no memory holds", Spec{Replicas: 3, Reserved: []Range{{2, 2_000_000_000}}}, []int32{0, 1, 2_000_000_001}},
		{"up to the largest", Spec{Start: math.MaxInt32 - 1, Replicas: 5}, []int32{math.MaxInt32 - 1, math.MaxInt32}},
		{"the largest is reserved", Spec{Start: math.MaxInt32 - 1, Replicas: 5, Reserved: []Range{{math.MaxInt32, math.MaxInt32}}}, []int32{math.MaxInt32 - 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.spec.Ordinals(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestReservedTouch: adjacent ranges are merged, up to the largest ordinal.
func TestReservedTouch(t *testing.T) {
	got, err := reservedOf([]intstr.IntOrString{
		intstr.FromString("2147483640-2147483647"), intstr.FromInt32(3), intstr.FromString("1-2"), intstr.FromString("2147483647-2147483647"), intstr.FromString("0-1"),
	})
	if want := []Range{{0, 3}, {math.MaxInt32 - 7, math.MaxInt32}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
}

// TestOwns: Owns agrees with Ordinals.
func TestOwns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{
			Start:    rapid.Int32Range(0, 8).Draw(t, "start"),
			Replicas: rapid.Int32Range(0, 6).Draw(t, "replicas"),
		}
		if rapid.Bool().Draw(t, "high") {
			spec.Start += math.MaxInt32 - 20
		}
		var reserve []intstr.IntOrString
		for _, at := range rapid.SliceOfN(rapid.Int32Range(-3, 12), 0, 6).Draw(t, "reserved") {
			reserve = append(reserve, intstr.FromInt32(int32(min(max(int64(spec.Start)+int64(at), 0), math.MaxInt32))))
		}
		var err error
		if spec.Reserved, err = reservedOf(reserve); err != nil {
			t.Fatal(err)
		}
		owned := spec.Ordinals()
		for at := max(int64(spec.Start)-4, 0); at <= min(int64(spec.Start)+20, math.MaxInt32); at++ {
			if spec.Owns(int32(at)) != slices.Contains(owned, int32(at)) {
				t.Fatalf("Owns(%d) is %v, and the ordinals are %v", at, spec.Owns(int32(at)), owned)
			}
		}
	})
}

func TestLocalPartition(t *testing.T) {
	for _, c := range []struct {
		name                             string
		partition, start, replicas, want int32
	}{
		{"k/k#128529 K-119 five of [2,11) keeps 2 to 4", 5, 2, 9, 3},
		{"from 0", 3, 0, 5, 3},
		{"below the range", 1, 2, 9, 0},
		{"at the start", 2, 2, 9, 0},
		{"at the end", 11, 2, 9, 9},
		{"above the range", 40, 2, 9, 9},
		{"no replicas", 5, 2, 0, 0},
		{"largest", math.MaxInt32, 0, math.MaxInt32, math.MaxInt32},
		{"largest start", 0, math.MaxInt32, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := LocalPartition(c.partition, c.start, c.replicas); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestPriority(t *testing.T) {
	weight := func(w int32, key, value string) api.WeightTerm {
		return api.WeightTerm{Weight: w, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	weights := &api.PriorityStrategy{WeightPriority: []api.WeightTerm{weight(20, "k", "a"), weight(10, "k", "b"), weight(5, "l", "x")}}
	order := &api.PriorityStrategy{OrderPriority: []api.OrderTerm{{OrderedKey: "k1"}, {OrderedKey: "k2"}}}
	for _, c := range []struct {
		name     string
		strategy *api.PriorityStrategy
		labels   map[string]string
		want     []int64
	}{
		{"none", nil, map[string]string{"k": "a"}, nil},
		{"R-036 one term", weights, map[string]string{"k": "a"}, []int64{20}},
		{"R-036 a sum", weights, map[string]string{"k": "b", "l": "x"}, []int64{15}},
		{"R-036 no match", weights, map[string]string{"z": "x"}, []int64{0}},
		{"R-037 both keys", order, map[string]string{"k1": "sts-10", "k2": "5"}, []int64{10, 5}},
		{"R-037 one is missing", order, map[string]string{"k2": "5"}, []int64{-1, 5}},
		{"R-037 no number", order, map[string]string{"k1": "x"}, []int64{0, -1}},
		{"R-037 a number in the middle does not count", order, map[string]string{"k1": "7x"}, []int64{0, -1}},
		{"a number that is too large", order, map[string]string{"k1": "x99999999999999999999"}, []int64{math.MaxInt64, -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Priority(c.strategy, c.labels)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v %v, want %v", got, err, c.want)
			}
		})
	}
	wrong := &api.PriorityStrategy{WeightPriority: []api.WeightTerm{{MatchSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}}}}}}
	if _, err := Priority(wrong, nil); err == nil {
		t.Error("a selector that says nothing is accepted")
	}
}
