package slices

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// withClaims is a set with two claim templates of 1Gi.
// withClaims is the set web with two claim templates, data and log.
func withClaims() *api.StatefulSet {
	set := namedSet("web", map[string]string{"app": "web"})
	set.Spec.ServiceName = "web"
	for _, name := range []string{"data", "log"} {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: storage("1Gi")}},
		})
	}
	return set
}

// storage is so much of it.
func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// TestNewPod: an ordinal's pod is its template with its name, its labels, its
// owner and its claims, and shares nothing with the template.
func TestNewPod(t *testing.T) {
	set := withClaims()
	from := template(func(t *corev1.PodTemplateSpec) {
		t.Finalizers = []string{"keep"}
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: "data"})
	})
	before := from.DeepCopy()
	got := newPod(set, from, "r1", 3)
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
	if bare := newPod(set, from, "r1", 3); bare.Labels[appsv1.PodIndexLabel] != "3" {
		t.Errorf("without labels of its own: %v", bare.Labels)
	}
	if !identityMatches(got, 3) || identityMatches(got, 2) || !storageMatches(set, got, 3) || storageMatches(set, got, 2) {
		t.Error("it is not taken for what it is")
	}
}

// TestStorageMatches: a pod mounts each of its ordinal's claims under the name of the template.
func TestStorageMatches(t *testing.T) {
	set := withClaims()
	for name, spoil := range map[string]func(*corev1.Volume){
		"another claim":   func(v *corev1.Volume) { v.PersistentVolumeClaim.ClaimName = "log-web-0" },
		"another name":    func(v *corev1.Volume) { v.Name = "logs" },
		"no claim at all": func(v *corev1.Volume) { v.PersistentVolumeClaim = nil },
	} {
		pod := newPod(set, template(nil), "r1", 3)
		if spoil(&pod.Spec.Volumes[1]); storageMatches(set, pod, 3) {
			t.Errorf("%s: it matches", name)
		}
	}
}

// TestNewClaim: an ordinal's claim is its template, with the labels by which it is found.
func TestNewClaim(t *testing.T) {
	set := withClaims()
	from := &set.Spec.VolumeClaimTemplates[0]
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-3", Labels: map[string]string{"app": "web"}},
		Spec:       *from.Spec.DeepCopy(),
	}
	if diff := cmp.Diff(want, newClaim(set, from, 3)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	from.Labels, from.Annotations = map[string]string{"tier": "fast"}, map[string]string{"team": "x"}
	want.Labels, want.Annotations = map[string]string{"tier": "fast", "app": "web"}, map[string]string{"team": "x"}
	if diff := cmp.Diff(want, newClaim(set, from, 3)); diff != "" {
		t.Errorf("with metadata: -want +got\n%s", diff)
	}
	if len(from.Labels) != 1 {
		t.Errorf("the template has the labels %v now", from.Labels)
	}
}

// TestOwnersOf: KEP-1847: who the claims of a pod are to go with.
func TestOwnersOf(t *testing.T) {
	const keep, discard = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	type policy = appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
	for name, tc := range map[string]struct {
		policy    *policy
		condemned bool
		want      owners
	}{
		"no policy":                         {nil, true, owners{}},
		"kept":                              {&policy{WhenScaled: keep, WhenDeleted: keep}, true, owners{}},
		"with the set":                      {&policy{WhenScaled: keep, WhenDeleted: discard}, true, owners{set: true}},
		"with the pod, which stays":         {&policy{WhenScaled: discard, WhenDeleted: keep}, false, owners{}},
		"with the pod, which goes":          {&policy{WhenScaled: discard, WhenDeleted: keep}, true, owners{pod: true}},
		"with either, and the pod stays":    {&policy{WhenScaled: discard, WhenDeleted: discard}, false, owners{set: true}},
		"with either, and the pod goes now": {&policy{WhenScaled: discard, WhenDeleted: discard}, true, owners{pod: true}},
	} {
		set := withClaims()
		set.Spec.PersistentVolumeClaimRetentionPolicy = tc.policy
		if got := ownersOf(set, tc.condemned); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestVolumeClaims: how many claims request what their template does, and how many of them
// have it.
func TestVolumeClaims(t *testing.T) {
	s := seen{set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}}
	claim := func(name, asks, has string) {
		c := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: storage(asks)}}}
		c.Status.Capacity = storage(has)
		s.claims[name] = c
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
	if diff := cmp.Diff(want, s.volumeClaims([]int32{0, 1, 2, 3})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := growth(&corev1.PersistentVolumeClaim{}, s.claims["data-web-0"]); got != nil {
		t.Errorf("a template that asks for nothing: %v", got)
	}
	if got := growth(&s.set.Spec.VolumeClaimTemplates[0], s.claims["data-web-2"]); got == nil || got.Storage().String() != "1Gi" {
		t.Errorf("a claim that is too small grows by %v", got)
	}
}

// TestViewPod: a pod is seen as it is.
func TestViewPod(t *testing.T) {
	set := withClaims()
	set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
	set.Spec.Lifecycle = &api.Lifecycle{
		PreDelete:     &api.LifecycleHook{LabelsHandler: map[string]string{"drain": "yes"}},
		InPlaceUpdate: &api.LifecycleHook{FinalizersHandler: []string{"hold"}},
	}
	s := seen{
		set: set, claims: map[string]*corev1.PersistentVolumeClaim{}, changes: map[string]Change{}, update: "r2",
		templates: map[string]*corev1.PodTemplateSpec{"r1": template(nil), "r2": template(func(t *corev1.PodTemplateSpec) { t.Labels["app"] = "shop" })},
	}
	for i := range set.Spec.VolumeClaimTemplates {
		claim := newClaim(set, &set.Spec.VolumeClaimTemplates[i], 3)
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage("1Gi")}
		s.claims[claim.Name] = claim
	}
	told, since := noon.Add(time.Minute), noon.Add(time.Hour)
	pod := newPod(set, template(nil), "r1", 3)
	pod.UID, pod.DeletionTimestamp, pod.Finalizers = "u", &metav1.Time{Time: noon}, []string{"hold"}
	pod.Labels["drain"] = "yes"
	pod.Annotations = map[string]string{
		api.TerminationReasonAnnotationKey: "ScaleDown", api.TerminationTimeAnnotationKey: told.Format(time.RFC3339Nano),
		api.SpecifiedDeleteKey: "true", api.InPlaceUpdateAnnotationKey: `{"revision":"r2","since":"2026-01-01T12:00:00Z","patched":"2026-01-01T12:00:00Z"}`,
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}}
	full := Pod{
		Ordinal: 3, UID: "u", Revision: "r1", Phase: Running, Terminating: true, GoneBy: noon, Ready: true, ReadySince: since,
		IdentityOK: true, ClaimsOK: true, AskedToGo: true,
		Reason: "ScaleDown", ReasonSince: told, HeldForDelete: true, HeldForUpdate: true,
		Change: Change{InPlace: true}, InPlace: &InPlace{Revision: "r2", Since: noon, Patched: true, Done: true},
	}
	if diff := cmp.Diff(full, s.viewPod(pod, 3, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	delete(s.claims, "log-web-3")
	s.claims["data-web-3"].Status.Capacity = storage("500Mi")
	set.Spec.Lifecycle = nil
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3"}}
	want := Pod{Ordinal: 3, Phase: Pending, ClaimsOK: true, ClaimsMissing: true, Growth: Growth{State: Growing, Claim: "data-web-3"}, Change: Change{Blocker: "the pod's revision is not known any more"}}
	if diff := cmp.Diff(want, s.viewPod(bare, 3, true)); diff != "" {
		t.Errorf("of a bare pod: -want +got\n%s", diff)
	}
}

// TestGrowthOf: how far the claims of an ordinal are, of which the one with the most to do counts.
func TestGrowthOf(t *testing.T) {
	small := func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = storage("500Mi") }
	unbound := func(c *corev1.PersistentVolumeClaim) {
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	}
	grows := func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = storage("500Mi") }
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
	awaits := Growth{State: AwaitsFileSystem, Claim: "data-web-3", Since: noon}
	both := func(all ...func(*corev1.PersistentVolumeClaim)) []func(*corev1.PersistentVolumeClaim) { return all }
	for name, tc := range map[string]struct {
		// change is of data, and of log when there are two.
		change []func(*corev1.PersistentVolumeClaim)
		want   Growth
	}{
		"X-06 all have grown":               {nil, Growth{}},
		"X-06 one is on its way":            {both(state(corev1.PersistentVolumeClaimControllerResizeInProgress)), Growth{State: Growing, Claim: "data-web-3"}},
		"X-06 nobody has begun":             {both(grows), Growth{State: Growing, Claim: "data-web-3"}},
		"X-10 the driver cannot":            {both(state(corev1.PersistentVolumeClaimControllerResizeInfeasible)), Growth{State: Infeasible, Claim: "data-web-3"}},
		"X-10 the node cannot":              {both(state(corev1.PersistentVolumeClaimNodeResizeInfeasible)), Growth{State: Infeasible, Claim: "data-web-3"}},
		"X-06 one is not asked yet":         {both(small), Growth{State: ToGrow, Claim: "data-web-3"}},
		"X-06 one is missing":               {both(func(c *corev1.PersistentVolumeClaim) { c.Name = "" }), Growth{}},
		"X-02 one is not bound, and small":  {both(func(c *corev1.PersistentVolumeClaim) { small(c); unbound(c) }), Growth{State: Unbound, Claim: "data-web-3"}},
		"X-02 one is not bound":             {both(unbound), Growth{}},
		"X-02 a file system is left":        {both(pending(noon, corev1.ConditionTrue)), awaits},
		"X-02 none is left":                 {both(pending(noon, corev1.ConditionFalse)), Growth{State: Growing, Claim: "data-web-3"}},
		"X-02 the later file system counts": {both(pending(noon.Add(-time.Hour), corev1.ConditionTrue), pending(noon, corev1.ConditionTrue)), Growth{State: AwaitsFileSystem, Claim: "log-web-3", Since: noon}},
		"X-02 so does the first":            {both(pending(noon, corev1.ConditionTrue), pending(noon.Add(-time.Hour), corev1.ConditionTrue)), awaits},
		"X-02 the second one grows yet":     {both(pending(noon, corev1.ConditionTrue), grows), Growth{State: Growing, Claim: "log-web-3"}},
		"X-02 the first one is to be asked": {both(small, grows), Growth{State: ToGrow, Claim: "data-web-3"}},
		"X-10 the second one cannot":        {both(small, state(corev1.PersistentVolumeClaimNodeResizeInfeasible)), Growth{State: Infeasible, Claim: "log-web-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen{set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.set.Spec.VolumeClaimTemplates {
				claim := newClaim(s.set, &s.set.Spec.VolumeClaimTemplates[i], 3)
				claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage("1Gi")}
				if i < len(tc.change) {
					tc.change[i](claim)
				}
				s.claims[claim.Name] = claim
			}
			if got := s.growthOf(3); got != (Growth{}) {
				t.Errorf("claims that follow nobody: %+v", got)
			}
			s.set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
			if got := s.growthOf(3); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestMountedAnew: a pod that was made after its claim began to wait mounts it anew.
func TestMountedAnew(t *testing.T) {
	for made, want := range map[time.Duration]bool{-time.Second: false, 0: false, time.Second: true} {
		t.Run("X-02 made "+made.String()+" after it", func(t *testing.T) {
			s := seen{set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}, changes: map[string]Change{}}
			s.set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
			claim := newClaim(s.set, &s.set.Spec.VolumeClaimTemplates[0], 3)
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage("500Mi"), Conditions: []corev1.PersistentVolumeClaimCondition{
				{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)},
			}}
			s.claims[claim.Name] = claim
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3", CreationTimestamp: metav1.NewTime(noon.Add(made))}}
			if got := s.viewPod(pod, 3, true).Growth; got != (Growth{State: AwaitsFileSystem, Claim: claim.Name, Since: noon, Anew: want}) {
				t.Errorf("%+v", got)
			}
			if claim.Status.Capacity = storage("1Gi"); s.viewPod(pod, 3, true).Growth != (Growth{}) {
				t.Error("it has grown, and waits")
			}
		})
	}
}

// TestAwaitsClaims: a pod waits for claims that do not exist, unless it runs and has mounted what it needs.
func TestAwaitsClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		phase  corev1.PodPhase
		change func(*corev1.Pod, seen)
		want   bool
	}{
		"K-036 it is Pending":              {corev1.PodPending, func(_ *corev1.Pod, s seen) { delete(s.claims, "log-web-3") }, true},
		"K-036 all are there":              {corev1.PodPending, func(*corev1.Pod, seen) {}, false},
		"K-036 it runs":                    {corev1.PodRunning, func(_ *corev1.Pod, s seen) { delete(s.claims, "log-web-3") }, false},
		"K-168 it runs without its volume": {corev1.PodRunning, func(pod *corev1.Pod, s seen) { pod.Spec.Volumes = nil; delete(s.claims, "log-web-3") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen{set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.set.Spec.VolumeClaimTemplates {
				claim := newClaim(s.set, &s.set.Spec.VolumeClaimTemplates[i], 3)
				s.claims[claim.Name] = claim
			}
			pod := newPod(s.set, template(nil), "r1", 3)
			pod.Status.Phase = tc.phase
			tc.change(pod, s)
			if got := s.awaitsClaims(pod, 3); got != tc.want {
				t.Errorf("it waits: %t", got)
			}
		})
	}
}

// TestClaimsMatch: a pod's claims are as they shall be when those that are there have their owners.
func TestClaimsMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(seen)
		condemned bool
		want      bool
	}{
		"as they shall be": {func(seen) {}, false, true},
		"one is missing":   {func(s seen) { delete(s.claims, "data-web-3") }, false, true},
		"one is too small": {func(s seen) { s.claims["data-web-3"].Status.Capacity = nil }, false, true},
		"one has an owner that it shall not": {func(s seen) {
			s.claims["data-web-3"].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.set, history.Kind)}
		}, false, false},
		"they shall go with the pod": {func(s seen) {
			s.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen{set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}}
			for i := range s.set.Spec.VolumeClaimTemplates {
				claim := newClaim(s.set, &s.set.Spec.VolumeClaimTemplates[i], 3)
				s.claims[claim.Name] = claim
			}
			tc.change(s)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-3", UID: "u"}}
			if got := s.claimsMatch(pod, 3, !tc.condemned); got != tc.want {
				t.Errorf("they match: %t", got)
			}
		})
	}
}

// TestChangeFrom: how a pod gets from its revision to the newest is asked once for each revision.
func TestChangeFrom(t *testing.T) {
	s := seen{
		update: "r2", templates: map[string]*corev1.PodTemplateSpec{"r1": template(nil), "r2": template(func(t *corev1.PodTemplateSpec) { t.Labels["app"] = "shop" })},
		changes: map[string]Change{"r0": {Blocker: "known before"}},
	}
	unknown := Change{Blocker: "the pod's revision is not known any more"}
	for revision, want := range map[string]Change{"r0": {Blocker: "known before"}, "r1": {InPlace: true}, "r2": {Same: true}, "": unknown} {
		if got := s.changeFrom(revision); got != want || s.changes[revision] != want {
			t.Errorf("from %q: got %+v, and remembers %+v", revision, got, s.changes[revision])
		}
	}
	s.changes, s.templates = map[string]Change{}, map[string]*corev1.PodTemplateSpec{"r1": template(nil)}
	if got := s.changeFrom("r1"); got != unknown {
		t.Errorf("to a revision without a template: got %+v", got)
	}
}

// TestHolds: a hook holds a pod back that has all of its labels and finalizers; one that names
// nothing holds nothing.
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
		if got := holds(tc.hook, pod); got != tc.want {
			t.Errorf("%s: holds %t", name, got)
		}
	}
}

// TestPhase: the phases of a pod.
func TestPhase(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]Phase{
		corev1.PodRunning: Running, corev1.PodFailed: Failed, corev1.PodSucceeded: Succeeded, corev1.PodPending: Pending, corev1.PodUnknown: Pending, "": Pending,
	} {
		if got := phaseOf(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%q is %v", phase, got)
		}
	}
}
