package slices

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestStaleOwner: an owner that is gone is told by its group, version, kind and name, whatever
// its UID: with the UID of ours it is ours.
func TestStaleOwner(t *testing.T) {
	set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}}
	pod := &metav1.ObjectMeta{Name: "web-0", UID: "pod"}
	ours, its := history.Kind.GroupVersion().String(), "v1"
	for name, tc := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"a former set":          {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "former"}, true},
		"the set":               {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "set"}, false},
		"a set of another name": {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "db", UID: "former"}, false},
		"another group":         {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another version":       {metav1.OwnerReference{APIVersion: history.Kind.Group + "/v9", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another kind":          {metav1.OwnerReference{APIVersion: ours, Kind: "Deployment", Name: "web", UID: "former"}, false},
		"a former pod":          {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "former"}, true},
		"the pod":               {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "pod"}, false},
		"a neighbour":           {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-1", UID: "former"}, false},
		"a ConfigMap":           {metav1.OwnerReference{APIVersion: its, Kind: "ConfigMap", Name: "web-0", UID: "former"}, false},
	} {
		t.Run("K-185 "+name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{tc.owner}}}
			if got := staleOwner(claim, set, pod); got != tc.want {
				t.Errorf("stale: %t", got)
			}
		})
	}
}

// TestMissingClaims: when the retention policy changes while the claims of a pod are missing,
// they are made with their owner; those that somebody else makes get it when they are there.
func TestMissingClaims(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", Labels: identityLabels("web", 0)}}
	for _, made := range []bool{false, true} {
		t.Run(fmt.Sprintf("K-189 made by another: %t", made), func(t *testing.T) {
			h, _ := newControl(t, interceptor.Funcs{}, pod.DeepCopy())
			h.set.Spec.Replicas = new(int32(1))
			h.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			}
			h.pods[0] = pod
			if made {
				claim := newClaim(h.set, &h.set.Spec.VolumeClaimTemplates[0], 0)
				if err := h.Client.Create(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				h.claims[claim.Name] = claim
			}
			if made && claimMatches(h.set, h.claims["data-web-0"], pod, true) {
				t.Error("nothing is to be done")
			}
			if err := h.all(t.Context(), []Action{{Verb: CreateClaims, UID: "u"}, {Verb: OwnClaims, UID: "u"}}); err != nil {
				t.Error(err)
			}
			claim := &corev1.PersistentVolumeClaim{}
			if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, claim); err != nil || !metav1.IsControlledBy(claim, h.set) {
				t.Errorf("owners %v, %v", claim.OwnerReferences, err)
			}
		})
	}
}

// TestLeavingClaimOfAPod: a claim that is being deleted while its pod uses it goes with the pod, and is
// not waited for: nothing has to be put right of it, and of the others it is.
func TestLeavingClaimOfAPod(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas  int32
		templates []string
		want      string
	}{
		"X-03 it is scaled away":                     {0, []string{"data"}, "Delete 0"},
		"X-03 it is scaled away, and has two claims": {0, []string{"data", "logs"}, "OwnClaims 0, Delete 0"},
		"X-03 it stays":                              {1, []string{"data"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", Labels: identityLabels("web", 0)},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}
			pod.Labels[appsv1.StatefulSetRevisionLabel] = "r1"
			var objects []client.Object
			set := namedSet("web", map[string]string{"app": "web"})
			for _, template := range tc.templates {
				set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *sized(template, "1Gi"))
				claim := newClaim(set, sized(template, "1Gi"), 0)
				if claim.ResourceVersion = "7"; template == "data" {
					claim.Finalizers, claim.DeletionTimestamp = []string{"kubernetes.io/pvc-protection"}, &metav1.Time{Time: noon}
				}
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template, VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
				}})
				objects = append(objects, claim)
			}
			set.Spec.Replicas = new(tc.replicas)
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			}
			h, _ := newControl(t, interceptor.Funcs{}, append(objects, pod)...)
			if h.set = set; h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod) != nil {
				t.Fatal("no pod")
			}
			h.pods[0] = pod
			spec, err := SpecOf(set)
			if err != nil {
				t.Fatal(err)
			}
			spec.Tell = api.AnnounceNever
			r1 := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r1"}, Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)}}
			in, observed, err := Reader{Client: h.Client, Set: set, Spec: spec, Pods: h.pods, History: history.Result{Current: r1, Update: r1}}.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			h.seen, in.Now = observed, noon
			d := Decide(in)
			if got := short(d); got != tc.want {
				t.Errorf("decided %q, want %q", got, tc.want)
			}
			if err := h.all(t.Context(), d.Actions); err != nil {
				t.Error(err)
			}
			gone := apierrors.IsNotFound(h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
			if gone != (tc.replicas == 0) {
				t.Errorf("it is gone: %t", gone)
			}
			logs := &corev1.PersistentVolumeClaim{}
			if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "logs-web-0"}, logs); err == nil && !metav1.IsControlledBy(logs, pod) {
				t.Errorf("the other claim stays: owners %v", logs.OwnerReferences)
			}
		})
	}
}

// TestGrowClaims: every claim of an ordinal that is smaller than its template asks for more.
// Whether its StorageClass lets it is the API server's to say.
func TestGrowClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		have    map[string]string
		refused string
		unbound string
		want    map[string]string
		fails   bool
	}{
		"X-02 one is not bound":                 {have: map[string]string{"data": "1Gi", "logs": "1Gi"}, unbound: "data", want: map[string]string{"data": "1Gi", "logs": "2Gi"}},
		"R-099 R-101 one":                       {have: map[string]string{"data": "1Gi", "logs": "2Gi"}, want: map[string]string{"data": "2Gi", "logs": "2Gi"}},
		"R-099 R-101 both":                      {have: map[string]string{"data": "1Gi", "logs": "1Gi"}, want: map[string]string{"data": "2Gi", "logs": "2Gi"}},
		"R-099 R-101 the first cannot":          {have: map[string]string{"data": "1Gi", "logs": "1Gi"}, refused: "data", want: map[string]string{"data": "1Gi", "logs": "1Gi"}, fails: true},
		"R-099 R-101 the second cannot":         {have: map[string]string{"data": "1Gi", "logs": "1Gi"}, refused: "logs", want: map[string]string{"data": "2Gi", "logs": "1Gi"}, fails: true},
		"R-099 the one that cannot is the same": {have: map[string]string{"data": "2Gi", "logs": "1Gi"}, refused: "data", want: map[string]string{"data": "2Gi", "logs": "2Gi"}},
		"R-101 a claim is missing":              {have: map[string]string{"logs": "1Gi"}, want: map[string]string{"logs": "2Gi"}},
		"R-100 a larger one stays":              {have: map[string]string{"data": "5Gi", "logs": "2Gi"}, want: map[string]string{"data": "5Gi", "logs": "2Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, ears := newControl(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if tc.refused != "" && strings.HasPrefix(o.GetName(), tc.refused) {
					return errAPI
				}
				return c.Patch(ctx, o, patch, opts...)
			}})
			h.set.Spec.VolumeClaimTemplates = nil
			for _, template := range []string{"data", "logs"} {
				h.set.Spec.VolumeClaimTemplates = append(h.set.Spec.VolumeClaimTemplates, *sized(template, "2Gi"))
				if have, found := tc.have[template]; found {
					claim := newClaim(h.set, sized(template, have), 0)
					if claim.Status.Phase = corev1.ClaimBound; template == tc.unbound {
						claim.Status.Phase = corev1.ClaimPending
					}
					if err := h.Client.Create(t.Context(), claim); err != nil {
						t.Fatal(err)
					}
					h.claims[claim.Name] = claim
				}
			}
			if err := (claimControl{h}).growClaims(t.Context(), 0); (err != nil) != tc.fails || ears.has("FailedUpdatePVC") != tc.fails {
				t.Errorf("error %v, events %v", err, ears.lines)
			}
			got := map[string]string{}
			for template := range tc.have {
				claim := &corev1.PersistentVolumeClaim{}
				if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: claimName(template, "web", 0)}, claim); err != nil {
					t.Fatal(err)
				}
				got[template] = claim.Spec.Resources.Requests.Storage().String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

// sized is a claim, or a claim template, of a size.
// sized is a claim, or the template of one, that requests a size.
func sized(name, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}
}

// TestGrownClaims: which claims follow their template, and which of them are done.
func TestGrownClaims(t *testing.T) {
	condition := func(kind corev1.PersistentVolumeClaimConditionType) []corev1.PersistentVolumeClaimCondition {
		return []corev1.PersistentVolumeClaimCondition{{Type: kind, Status: corev1.ConditionTrue}}
	}
	for name, tc := range map[string]struct {
		asks, has         string
		conditions        []corev1.PersistentVolumeClaimCondition
		compatible, ready int32
	}{
		"R-100 missing":                            {"", "", nil, 0, 0},
		"R-100 smaller":                            {"1Gi", "1Gi", nil, 0, 0},
		"R-100 asked for":                          {"2Gi", "1Gi", nil, 1, 0},
		"R-100 being made larger":                  {"2Gi", "1Gi", condition(corev1.PersistentVolumeClaimResizing), 1, 0},
		"R-100 its file system grows with the pod": {"2Gi", "1Gi", condition(corev1.PersistentVolumeClaimFileSystemResizePending), 1, 1},
		"R-100 of the size":                        {"2Gi", "2Gi", nil, 1, 1},
		"R-100 larger":                             {"3Gi", "3Gi", nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen{set: namedSet("web", nil), claims: map[string]*corev1.PersistentVolumeClaim{}}
			s.set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized("data", "2Gi")}
			if tc.asks != "" {
				claim := sized("data-web-0", tc.asks)
				claim.Status = corev1.PersistentVolumeClaimStatus{Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tc.has)}, Conditions: tc.conditions}
				s.claims[claim.Name] = claim
			}
			want := []api.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: tc.compatible, CompatibleReadyReplicas: tc.ready}}
			if diff := cmp.Diff(want, s.volumeClaims([]int32{0})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestClaimEvents: which changes of a claim are looked at.
func TestClaimEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"labelled": {func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"a": "b"} }, false},
		"bound":    {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }, true},
		"X-10 its driver says that it cannot": {func(c *corev1.PersistentVolumeClaim) {
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible}
		}, true},
		"owned":   {func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = []metav1.OwnerReference{{Name: "web"}} }, true},
		"deleted": {func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{Time: noon} }, true},
		"larger":  {func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = c.Spec.Resources.Requests }, true},
		"its file system grows with a pod": {func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := sized("data-web-0", "2Gi")
			before.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			after := before.DeepCopy()
			tc.change(after)
			if got := claimEvents().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("looked at: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestVolumesOfAPod: a claim template takes the place of a volume of its name.
func TestVolumesOfAPod(t *testing.T) {
	t.Run("K-216: one of the name, and another one", func(t *testing.T) {
		set := namedSet("web", nil)
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized("data", "1Gi")}
		empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		want := []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-3"}}},
			{Name: "tmp", VolumeSource: empty},
		}
		if diff := cmp.Diff(want, volumesFor(set, []corev1.Volume{{Name: "data", VolumeSource: empty}, {Name: "tmp", VolumeSource: empty}}, 3)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}
