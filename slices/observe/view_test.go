package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestTakenForAnOrdinal: a name belongs to an ordinal's pod only if it matches as a whole, and so do its labels.
func TestTakenForAnOrdinal(t *testing.T) {
	if got, found := OrdinalOf("web", "3"); found {
		t.Errorf("3 is taken for ordinal %d of web", got)
	}
	pod := NewPod(slicetest.WithClaims(), slicetest.Template(nil), "r1", 3)
	if pod.Labels[appsv1.StatefulSetPodNameLabel] = "web-4"; identityMatches(pod, 3) {
		t.Error("a pod with another one's name is taken for ordinal 3")
	}
}

// TestClaimsInTheMiddle: one missing claim does not affect the others.
func TestClaimsInTheMiddle(t *testing.T) {
	s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
	s.Set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
	claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[1], 3)
	s.Claims[claim.Name] = claim
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3", UID: "u"}}
	claim.Status.Phase, claim.Spec.Resources.Requests = corev1.ClaimBound, slicetest.Storage("500Mi")
	if !s.awaitsClaims(pod, 3) || s.growthOf(3).State != decide.ToGrow {
		t.Errorf("none is missing, or they do not grow: %+v", s.growthOf(3))
	}
	claim.Spec.Resources.Requests = slicetest.Storage("1Gi")
	if got := s.VolumeClaims([]int32{2, 3}); got[1].CompatibleReplicas != 1 {
		t.Errorf("the claim of ordinal 3 is not counted: %+v", got)
	}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-3", UID: "former"}}
	if !(Owners{Set: true}).ownedBy(claim, s.Set, pod) {
		t.Error("a claim that goes with a former pod is given another owner")
	}
	claim.OwnerReferences[0].APIVersion = "example.com/v1"
	if staleOwner(claim, s.Set, pod) {
		t.Error("a Pod of another group is taken for a former one")
	}
}

// TestReadyByItsOwnCondition: other conditions that are True do not make a pod Ready.
func TestReadyByItsOwnCondition(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse},
	}}}
	if ready, _ := Readiness(pod); ready {
		t.Error("it is taken for Ready")
	}
	s := Seen{target: "r2", changes: map[string]decide.Change{}}
	if got := s.changeFrom("r2"); !got.Same {
		t.Errorf("the newest revision, whose template is not known: %+v", got)
	}
}

// TestNewPod: an ordinal's pod is its template with its name, labels, owner and claims, and shares no memory with the
// template.
func TestNewPod(t *testing.T) {
	set := slicetest.WithClaims()
	from := slicetest.Template(func(t *corev1.PodTemplateSpec) {
		t.Finalizers = []string{"keep"}
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: "data"})
	})
	before := from.DeepCopy()
	got := NewPod(set, from, "r1", 3)
	claim := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-web-3"}}}
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-3", Finalizers: []string{"keep"}, Annotations: map[string]string{"team": "x"},
			Labels:          map[string]string{"app": "web", appsv1.StatefulSetPodNameLabel: "web-3", appsv1.PodIndexLabel: "3", appsv1.StatefulSetRevisionLabel: "r1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, history.Kind)},
		},
		Spec: *from.Spec.DeepCopy(),
	}
	want.Spec.Hostname, want.Spec.Subdomain = "web-3", "web"
	want.Spec.Volumes = []corev1.Volume{claim("data"), claim("log"), {Name: "scratch"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(before, from); diff != "" {
		t.Errorf("the template has changed\n%s", diff)
	}
	from.Labels = nil
	if bare := NewPod(set, from, "r1", 3); bare.Labels[appsv1.PodIndexLabel] != "3" {
		t.Errorf("without labels of its own: %v", bare.Labels)
	}
	if !identityMatches(got, 3) || identityMatches(got, 2) || !storageMatches(set, got, 3) || storageMatches(set, got, 2) {
		t.Error("it is not taken for what it is")
	}
}

// TestStorageMatches: a pod mounts each of its ordinal's claims under the name of the template.
func TestStorageMatches(t *testing.T) {
	set := slicetest.WithClaims()
	for name, spoil := range map[string]func(*corev1.Volume){
		"another claim":   func(v *corev1.Volume) { v.PersistentVolumeClaim.ClaimName = "log-web-0" },
		"another name":    func(v *corev1.Volume) { v.Name = "logs" },
		"no claim at all": func(v *corev1.Volume) { v.PersistentVolumeClaim = nil },
	} {
		pod := NewPod(set, slicetest.Template(nil), "r1", 3)
		if spoil(&pod.Spec.Volumes[1]); storageMatches(set, pod, 3) {
			t.Errorf("%s: it matches", name)
		}
	}
}

// TestNewClaim: an ordinal's claim is its template with the labels of the selector.
func TestNewClaim(t *testing.T) {
	set := slicetest.WithClaims()
	from := &set.Spec.VolumeClaimTemplates[0]
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-3", Labels: map[string]string{"app": "web"}},
		Spec:       *from.Spec.DeepCopy(),
	}
	if diff := cmp.Diff(want, NewClaim(set, from, 3)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	from.Labels, from.Annotations = map[string]string{"tier": "fast"}, map[string]string{"team": "x"}
	want.Labels, want.Annotations = map[string]string{"tier": "fast", "app": "web"}, map[string]string{"team": "x"}
	if diff := cmp.Diff(want, NewClaim(set, from, 3)); diff != "" {
		t.Errorf("with metadata: -want +got\n%s", diff)
	}
	if len(from.Labels) != 1 {
		t.Errorf("the template has the labels %v now", from.Labels)
	}
}

// TestOwnersOf: the owners of a pod's claims (KEP-1847).
func TestOwnersOf(t *testing.T) {
	const keep, discard = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	type policy = appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
	for name, tc := range map[string]struct {
		policy    *policy
		condemned bool
		want      Owners
	}{
		"no policy":                         {nil, true, Owners{}},
		"kept":                              {&policy{WhenScaled: keep, WhenDeleted: keep}, true, Owners{}},
		"with the set":                      {&policy{WhenScaled: keep, WhenDeleted: discard}, true, Owners{Set: true}},
		"with the pod, which stays":         {&policy{WhenScaled: discard, WhenDeleted: keep}, false, Owners{}},
		"with the pod, which goes":          {&policy{WhenScaled: discard, WhenDeleted: keep}, true, Owners{Pod: true}},
		"with either, and the pod stays":    {&policy{WhenScaled: discard, WhenDeleted: discard}, false, Owners{Set: true}},
		"with either, and the pod goes now": {&policy{WhenScaled: discard, WhenDeleted: discard}, true, Owners{Pod: true}},
	} {
		set := slicetest.WithClaims()
		set.Spec.PersistentVolumeClaimRetentionPolicy = tc.policy
		if got := OwnersOf(set, tc.condemned); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestVolumeClaims: the number of claims that request the size of their template, and of those that have it.
func TestVolumeClaims(t *testing.T) {
	s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
	claim := func(name, asks, has string) {
		c := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: slicetest.Storage(asks)}}}
		c.Status.Capacity = slicetest.Storage(has)
		s.Claims[name] = c
	}
	claim("data-web-0", "1Gi", "1Gi")
	claim("data-web-1", "2Gi", "1Gi")
	claim("data-web-2", "500Mi", "1Gi")
	claim("data-web-9", "1Gi", "1Gi")
	claim("log-web-0", "2Gi", "3Gi")
	want := []api.VolumeClaimStatus{
		{VolumeClaimName: "data", CompatibleReplicas: 2, CompatibleReadyReplicas: 1},
		{VolumeClaimName: "log", CompatibleReplicas: 1, CompatibleReadyReplicas: 1},
	}
	if diff := cmp.Diff(want, s.VolumeClaims([]int32{0, 1, 2, 3})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Shortfall(&corev1.PersistentVolumeClaim{}, s.Claims["data-web-0"]); got != nil {
		t.Errorf("a template that asks for nothing: %v", got)
	}
	if got := Shortfall(&s.Set.Spec.VolumeClaimTemplates[0], s.Claims["data-web-2"]); got == nil || got.Storage().String() != "1Gi" {
		t.Errorf("a claim that is too small grows by %v", got)
	}
}

// TestViewPod: the properties of a pod are read correctly.
func TestViewPod(t *testing.T) {
	set := slicetest.WithClaims()
	set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
	set.Spec.Lifecycle = &api.Lifecycle{
		PreDelete:     &api.LifecycleHook{LabelsHandler: map[string]string{"drain": "yes"}},
		InPlaceUpdate: &api.LifecycleHook{FinalizersHandler: []string{"hold"}},
	}
	s := Seen{
		Set: set, Claims: map[string]*corev1.PersistentVolumeClaim{}, changes: map[string]decide.Change{}, target: "r2",
		Templates: map[string]*corev1.PodTemplateSpec{"r1": slicetest.Template(nil), "r2": slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Labels["app"] = "shop" })},
	}
	for i := range set.Spec.VolumeClaimTemplates {
		claim := NewClaim(set, &set.Spec.VolumeClaimTemplates[i], 3)
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: slicetest.Storage("1Gi")}
		s.Claims[claim.Name] = claim
	}
	told, since := slicetest.Noon.Add(time.Minute), slicetest.Noon.Add(time.Hour)
	pod := NewPod(set, slicetest.Template(nil), "r1", 3)
	pod.UID, pod.DeletionTimestamp, pod.Finalizers = "u", &metav1.Time{Time: slicetest.Noon}, []string{"hold"}
	pod.Labels["drain"], pod.Spec.NodeName = "yes", "node-1"
	pod.Annotations = map[string]string{
		api.TerminationReasonAnnotationKey: "ScaleDown", api.TerminationTimeAnnotationKey: told.Format(time.RFC3339Nano),
		api.SpecifiedDeleteKey: "true", api.InPlaceUpdateAnnotationKey: `{"revision":"r2","since":"2026-01-01T12:00:00Z","patched":"2026-01-01T12:00:00Z"}`,
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}}
	full := decide.Pod{
		Ordinal: 3, UID: "u", Revision: "r1", Phase: decide.Running, Terminating: true, GoneBy: slicetest.Noon, Node: "node-1", Finalizers: []string{"hold"}, Ready: true, ReadySince: since, NeverAvailable: true,
		IdentityOK: true, ClaimsOK: true, AskedToGo: true,
		Reason: "ScaleDown", ReasonSince: told, HeldForDelete: true, HeldForUpdate: true,
		Change: decide.Change{InPlace: true}, InPlace: &decide.InPlace{Revision: "r2", Since: slicetest.Noon, Patched: true, Done: true},
	}
	if diff := cmp.Diff(full, s.viewPod(pod, 3, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	delete(s.Claims, "log-web-3")
	s.Claims["data-web-3"].Status.Capacity = slicetest.Storage("500Mi")
	set.Spec.Lifecycle = nil
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3"}}
	want := decide.Pod{Ordinal: 3, Phase: decide.Pending, NeverAvailable: true, ClaimsOK: true, ClaimsMissing: true, Growth: decide.Growth{State: decide.Growing, Claim: "data-web-3"}, Change: decide.Change{Blocker: "the pod's revision is not known any more"}}
	if diff := cmp.Diff(want, s.viewPod(bare, 3, true)); diff != "" {
		t.Errorf("of a bare pod: -want +got\n%s", diff)
	}
}

// TestGrowthOf: the growth of an ordinal's claims is that of the claim with the most work left.
func TestGrowthOf(t *testing.T) {
	small := func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = slicetest.Storage("500Mi") }
	unbound := func(c *corev1.PersistentVolumeClaim) {
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	}
	grows := func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = slicetest.Storage("500Mi") }
	state := func(state corev1.ClaimResourceStatus) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			grows(c)
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: state}
		}
	}
	pending := func(at time.Time, is corev1.ConditionStatus) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			grows(c)
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
				{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue},
				{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: is, LastTransitionTime: metav1.NewTime(at)},
			}
		}
	}
	awaits := decide.Growth{State: decide.AwaitsFileSystem, Claim: "data-web-3", Since: slicetest.Noon}
	both := func(all ...func(*corev1.PersistentVolumeClaim)) []func(*corev1.PersistentVolumeClaim) { return all }
	for name, tc := range map[string]struct {
		// change applies to data, and the second one to log.
		change []func(*corev1.PersistentVolumeClaim)
		want   decide.Growth
	}{
		"X-06 all have grown":       {nil, decide.Growth{}},
		"X-06 one is on its way":    {both(state(corev1.PersistentVolumeClaimControllerResizeInProgress)), decide.Growth{State: decide.Growing, Claim: "data-web-3"}},
		"X-06 nobody has begun":     {both(grows), decide.Growth{State: decide.Growing, Claim: "data-web-3"}},
		"X-10 the driver cannot":    {both(state(corev1.PersistentVolumeClaimControllerResizeInfeasible)), decide.Growth{State: decide.Infeasible, Claim: "data-web-3"}},
		"X-10 the node cannot":      {both(state(corev1.PersistentVolumeClaimNodeResizeInfeasible)), decide.Growth{State: decide.Infeasible, Claim: "data-web-3"}},
		"X-06 one is not asked yet": {both(small), decide.Growth{State: decide.ToGrow, Claim: "data-web-3"}},
		"X-06 one is missing":       {both(func(c *corev1.PersistentVolumeClaim) { c.Name = "" }), decide.Growth{}},
		"X-06 a deleted one is replaced": {both(func(c *corev1.PersistentVolumeClaim) {
			small(c)
			c.DeletionTimestamp = new(metav1.NewTime(slicetest.Noon))
		}), decide.Growth{}},
		"X-02 one is not bound, and small":  {both(func(c *corev1.PersistentVolumeClaim) { small(c); unbound(c) }), decide.Growth{State: decide.Unbound, Claim: "data-web-3"}},
		"X-02 one is not bound":             {both(unbound), decide.Growth{}},
		"X-02 a file system is left":        {both(pending(slicetest.Noon, corev1.ConditionTrue)), awaits},
		"X-02 none is left":                 {both(pending(slicetest.Noon, corev1.ConditionFalse)), decide.Growth{State: decide.Growing, Claim: "data-web-3"}},
		"X-02 the later file system counts": {both(pending(slicetest.Noon.Add(-time.Hour), corev1.ConditionTrue), pending(slicetest.Noon, corev1.ConditionTrue)), decide.Growth{State: decide.AwaitsFileSystem, Claim: "log-web-3", Since: slicetest.Noon}},
		"X-02 so does the first":            {both(pending(slicetest.Noon, corev1.ConditionTrue), pending(slicetest.Noon.Add(-time.Hour), corev1.ConditionTrue)), awaits},
		"X-02 the second one grows yet":     {both(pending(slicetest.Noon, corev1.ConditionTrue), grows), decide.Growth{State: decide.Growing, Claim: "log-web-3"}},
		"X-02 the first one is to be asked": {both(small, grows), decide.Growth{State: decide.ToGrow, Claim: "data-web-3", InProgress: true}},
		"Y10 it grows to an earlier size":   {both(func(c *corev1.PersistentVolumeClaim) { small(c); c.Status.Capacity = slicetest.Storage("200Mi") }), decide.Growth{State: decide.ToGrow, Claim: "data-web-3", InProgress: true}},
		"X-10 the second one cannot":        {both(small, state(corev1.PersistentVolumeClaimNodeResizeInfeasible)), decide.Growth{State: decide.Infeasible, Claim: "log-web-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.Set.Spec.VolumeClaimTemplates {
				claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[i], 3)
				claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: slicetest.Storage("1Gi")}
				if i < len(tc.change) {
					tc.change[i](claim)
				}
				s.Claims[claim.Name] = claim
			}
			if got := s.growthOf(3); got != (decide.Growth{}) {
				t.Errorf("claims that follow nobody: %+v", got)
			}
			s.Set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
			if got := s.growthOf(3); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestMountedAnew: a pod that was created after its claim began to wait mounts the volume again.
func TestMountedAnew(t *testing.T) {
	for made, want := range map[time.Duration]bool{-time.Second: false, 0: false, time.Second: true} {
		t.Run("X-02 made "+made.String()+" after it", func(t *testing.T) {
			s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}, changes: map[string]decide.Change{}}
			s.Set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
			claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[0], 3)
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: slicetest.Storage("500Mi"), Conditions: []corev1.PersistentVolumeClaimCondition{
				{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(slicetest.Noon)},
			}}
			s.Claims[claim.Name] = claim
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3", CreationTimestamp: metav1.NewTime(slicetest.Noon.Add(made))}}
			if got := s.viewPod(pod, 3, true).Growth; got != (decide.Growth{State: decide.AwaitsFileSystem, Claim: claim.Name, Since: slicetest.Noon, Anew: want}) {
				t.Errorf("%+v", got)
			}
			if claim.Status.Capacity = slicetest.Storage("1Gi"); s.viewPod(pod, 3, true).Growth != (decide.Growth{}) {
				t.Error("it has grown, and waits")
			}
		})
	}
}

// TestAwaitsClaims: a pod waits for missing claims, unless it is running and has mounted its volumes.
func TestAwaitsClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		phase  corev1.PodPhase
		change func(*corev1.Pod, Seen)
		want   bool
	}{
		"K-036 it is Pending":              {corev1.PodPending, func(_ *corev1.Pod, s Seen) { delete(s.Claims, "log-web-3") }, true},
		"K-036 all are there":              {corev1.PodPending, func(*corev1.Pod, Seen) {}, false},
		"K-036 it runs":                    {corev1.PodRunning, func(_ *corev1.Pod, s Seen) { delete(s.Claims, "log-web-3") }, false},
		"K-168 it runs without its volume": {corev1.PodRunning, func(pod *corev1.Pod, s Seen) { pod.Spec.Volumes = nil; delete(s.Claims, "log-web-3") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.Set.Spec.VolumeClaimTemplates {
				claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[i], 3)
				s.Claims[claim.Name] = claim
			}
			pod := NewPod(s.Set, slicetest.Template(nil), "r1", 3)
			pod.Status.Phase = tc.phase
			tc.change(pod, s)
			if got := s.awaitsClaims(pod, 3); got != tc.want {
				t.Errorf("it waits: %t", got)
			}
		})
	}
}

// TestClaimsMatch: a pod's claims need no change if the existing ones have their owners.
func TestClaimsMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(Seen)
		condemned bool
		want      bool
	}{
		"as they shall be": {func(Seen) {}, false, true},
		"one is missing":   {func(s Seen) { delete(s.Claims, "data-web-3") }, false, true},
		"one is too small": {func(s Seen) { s.Claims["data-web-3"].Status.Capacity = nil }, false, true},
		"one has an owner that it shall not": {func(s Seen) {
			s.Claims["data-web-3"].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.Set, history.Kind)}
		}, false, false},
		"they shall go with the pod": {func(s Seen) {
			s.Set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.Set.Spec.VolumeClaimTemplates {
				claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[i], 3)
				s.Claims[claim.Name] = claim
			}
			tc.change(s)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3", UID: "u"}}
			if got := s.claimsMatch(pod, 3, !tc.condemned); got != tc.want {
				t.Errorf("they match: %t", got)
			}
		})
	}
}

// TestChangeFrom: the change from a revision to the update revision is computed once for each revision.
func TestChangeFrom(t *testing.T) {
	s := Seen{
		target: "r2", Templates: map[string]*corev1.PodTemplateSpec{"r1": slicetest.Template(nil), "r2": slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Labels["app"] = "shop" })},
		changes: map[string]decide.Change{"r0": {Blocker: "known before"}},
	}
	unknown := decide.Change{Blocker: "the pod's revision is not known any more"}
	for revision, want := range map[string]decide.Change{"r0": {Blocker: "known before"}, "r1": {InPlace: true}, "r2": {Same: true}, "": unknown} {
		if got := s.changeFrom(revision); got != want || s.changes[revision] != want {
			t.Errorf("from %q: got %+v, and remembers %+v", revision, got, s.changes[revision])
		}
	}
	s.changes, s.Templates = map[string]decide.Change{}, map[string]*corev1.PodTemplateSpec{"r1": slicetest.Template(nil)}
	if got := s.changeFrom("r1"); got != unknown {
		t.Errorf("to a revision without a template: got %+v", got)
	}
}

// TestHolds: a hook delays a pod that has all of its labels and finalizers. An empty hook delays nothing.
func TestHolds(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"drain": "yes"}, Finalizers: []string{"hold"}}}
	labels, finalizers := map[string]string{"drain": "yes"}, []string{"hold"}
	for name, tc := range map[string]struct {
		hook *api.LifecycleHook
		want bool
	}{
		"no hook":           {nil, false},
		"nothing":           {&api.LifecycleHook{}, false},
		"a label":           {&api.LifecycleHook{LabelsHandler: labels}, true},
		"a finalizer":       {&api.LifecycleHook{FinalizersHandler: finalizers}, true},
		"both":              {&api.LifecycleHook{LabelsHandler: labels, FinalizersHandler: finalizers}, true},
		"another value":     {&api.LifecycleHook{LabelsHandler: map[string]string{"drain": "no"}, FinalizersHandler: finalizers}, false},
		"another finalizer": {&api.LifecycleHook{LabelsHandler: labels, FinalizersHandler: []string{"hold", "more"}}, false},
	} {
		if got := Holds(tc.hook, pod); got != tc.want {
			t.Errorf("%s: holds %t", name, got)
		}
	}
}

// TestPhase: the phases of a pod.
func TestPhase(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]decide.Phase{
		corev1.PodRunning: decide.Running, corev1.PodFailed: decide.Failed, corev1.PodSucceeded: decide.Succeeded, corev1.PodPending: decide.Pending, corev1.PodUnknown: decide.Pending, "": decide.Pending,
	} {
		if got := phaseOf(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%q is %v", phase, got)
		}
	}
}

// TestY2NeverAvailable: which pods were never available, as far as their status shows.
func TestY2NeverAvailable(t *testing.T) {
	began := slicetest.Noon
	at := func(node string, conditions ...corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "it"}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: began}, Conditions: conditions}}
	}
	ready := func(status corev1.ConditionStatus, after time.Duration) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(began.Add(after))}
	}
	lost := func(after time.Duration) *corev1.Pod { return at("n", ready(corev1.ConditionFalse, after)) }
	unbegun, timeless := lost(0), lost(0)
	unbegun.Status.StartTime = nil
	timeless.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	for name, tc := range map[string]struct {
		pod      *corev1.Pod
		minReady time.Duration
		served   bool
		want     bool
	}{
		"on no node":                            {pod: at(""), want: true},
		"no condition":                          {pod: at("n"), want: true},
		"no start":                              {pod: unbegun},
		"no time":                               {pod: timeless},
		"not Ready since it began":              {pod: lost(time.Second), want: true},
		"not Ready since later":                 {pod: lost(2 * time.Second)},
		"not Ready since before it began":       {pod: lost(-time.Second)},
		"Ready for less than minReadySeconds":   {pod: lost(59 * time.Second), minReady: time.Minute, want: true},
		"Ready for minReadySeconds, or flapped": {pod: lost(time.Minute), minReady: time.Minute},
		"Ready":                                 {pod: at("n", ready(corev1.ConditionTrue, time.Minute)), want: true},
		"Ready, seen available":                 {pod: at("n", ready(corev1.ConditionTrue, time.Minute)), served: true},
		"not Ready since it began, and seen available before": {pod: lost(0), served: true},
	} {
		view := Seen{Set: slicetest.NamedSet("web", nil), changes: map[string]decide.Change{}, minReady: tc.minReady, served: map[types.UID]bool{"it": tc.served}}.viewPod(tc.pod, 0, true)
		if view.NeverAvailable != tc.want {
			t.Errorf("%s: %t", name, view.NeverAvailable)
		}
	}
}
