package execute

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestMissingClaims: if the retention policy changes while the claims of a pod are missing, they are created with their
// owner. Claims that another controller creates get the owner later.
func TestMissingClaims(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", Labels: observe.IdentityLabels("web", 0)}}
	for _, made := range []bool{false, true} {
		t.Run(fmt.Sprintf("K-189 made by another: %t", made), func(t *testing.T) {
			h, _ := newControl(t, interceptor.Funcs{}, pod.DeepCopy())
			h.Set.Spec.Replicas = new(int32(1))
			h.Set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			}
			h.pods[0] = pod
			if made {
				claim := observe.NewClaim(h.Set, &h.Set.Spec.VolumeClaimTemplates[0], 0)
				if err := h.Client.Create(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				h.Claims[claim.Name] = claim
			}
			if made && observe.ClaimMatches(h.Set, h.Claims["data-web-0"], pod, true) {
				t.Error("nothing is to be done")
			}
			if err := h.all(t.Context(), []decide.Action{{Verb: decide.CreateClaims, UID: "u"}, {Verb: decide.OwnClaims, UID: "u"}}); err != nil {
				t.Error(err)
			}
			claim := &corev1.PersistentVolumeClaim{}
			if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, claim); err != nil || !metav1.IsControlledBy(claim, h.Set) {
				t.Errorf("owners %v, %v", claim.OwnerReferences, err)
			}
		})
	}
}

// TestLeavingClaimOfAPod: a claim that is being deleted while its pod uses it needs no change and delays nothing. The pod's
// other claims are updated.
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
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", Labels: observe.IdentityLabels("web", 0)},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}
			pod.Labels[appsv1.StatefulSetRevisionLabel] = "r1"
			var objects []client.Object
			set := slicetest.NamedSet("web", map[string]string{"app": "web"})
			for _, template := range tc.templates {
				set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *slicetest.Sized(template, "1Gi"))
				claim := observe.NewClaim(set, slicetest.Sized(template, "1Gi"), 0)
				if claim.ResourceVersion = "7"; template == "data" {
					claim.Finalizers, claim.DeletionTimestamp = []string{"kubernetes.io/pvc-protection"}, &metav1.Time{Time: slicetest.Noon}
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
			if h.Set = set; h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod) != nil {
				t.Fatal("no pod")
			}
			h.pods[0] = pod
			spec, err := decide.SpecOf(set)
			if err != nil {
				t.Fatal(err)
			}
			spec.Tell = api.AnnounceNever
			r1 := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r1"}, Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)}}
			in, observed, err := observe.Reader{Client: h.Client, Set: set, Spec: spec, Pods: h.pods, History: history.Result{Current: r1, Update: r1}}.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			h.Seen, in.Now = observed, slicetest.Noon
			d := decide.Decide(in)
			if got := slicetest.Short(d); got != tc.want {
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

// TestGrowClaims: the requests of all smaller claims of an ordinal are raised. The API server decides whether the
// StorageClass allows it.
func TestGrowClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		have    map[string]string
		refused string
		unbound string
		deleted string
		want    map[string]string
		fails   bool
	}{
		"X-02 one is being deleted":             {have: map[string]string{"data": "1Gi", "logs": "1Gi"}, deleted: "data", want: map[string]string{"data": "1Gi", "logs": "2Gi"}},
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
			h.Set.Spec.VolumeClaimTemplates = nil
			for _, template := range []string{"data", "logs"} {
				h.Set.Spec.VolumeClaimTemplates = append(h.Set.Spec.VolumeClaimTemplates, *slicetest.Sized(template, "2Gi"))
				if have, found := tc.have[template]; found {
					claim := observe.NewClaim(h.Set, slicetest.Sized(template, have), 0)
					if claim.Status.Phase = corev1.ClaimBound; template == tc.unbound {
						claim.Status.Phase = corev1.ClaimPending
					}
					if err := h.Client.Create(t.Context(), claim); err != nil {
						t.Fatal(err)
					}
					if template == tc.deleted {
						claim.DeletionTimestamp = new(metav1.NewTime(slicetest.Noon))
					}
					h.Claims[claim.Name] = claim
				}
			}
			if err := (claimControl{h}).growClaims(t.Context(), 0); (err != nil) != tc.fails || ears.Has("FailedUpdatePVC") != tc.fails {
				t.Errorf("error %v, events %v", err, ears.Lines)
			}
			got := map[string]string{}
			for template := range tc.have {
				claim := &corev1.PersistentVolumeClaim{}
				if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: observe.ClaimName(template, "web", 0)}, claim); err != nil {
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
