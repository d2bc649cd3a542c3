package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// sharing returns a StatefulSet whose pods share a claim in addition to their own.
func sharing(readOnly bool) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Replicas, set.Spec.ServiceName = new(int32(3)), "web"
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	for name, claim := range map[string]string{"shared": "shared", "data": "never-used"} {
		set.Spec.Template.Spec.Volumes = append(set.Spec.Template.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: readOnly},
		}})
	}
	return set
}

// TestSharedClaims: claims that all ordinals share must exist at the destination, on the same disk (G12).
func TestSharedClaims(t *testing.T) {
	disk := func(server string) []client.Object {
		return []client.Object{
			&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shared"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "nfs"},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			},
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: server, Path: "/"},
			}}},
		}
	}
	pending := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shared"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	for name, tc := range map[string]struct {
		there    []client.Object
		cluster  types.UID
		readOnly bool
		copied   bool
		reason   string
		warning  bool
	}{
		"the same disk":            {disk("a"), "2", false, false, "", false},
		"none":                     {nil, "2", false, false, api.ReasonDependencyMissing, false},
		"none, and only read":      {nil, "2", true, false, api.ReasonDependencyMissing, false},
		"another disk":             {disk("b"), "2", false, false, volumes.ReasonClaimDiverges, false},
		"a copy that is read":      {disk("b"), "2", true, false, volumes.ReasonClaimDiverges, true},
		"not bound":                {[]client.Object{pending}, "2", false, false, volumes.ReasonClaimDiverges, false},
		"the very same namespace":  {nil, "1", false, false, "", false},
		"none, and to be copied":   {nil, "2", false, true, "", false},
		"another disk, for a copy": {disk("b"), "2", false, true, volumes.ReasonClaimDiverges, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			if tc.copied {
				m.Spec.Dependencies.Mode = api.DependenciesCopy
			}
			e := &Inspector{Pair: endpointtest.Pair(clustertest.New(disk("a")...), clustertest.New(tc.there...))}
			e.Destination.ID = tc.cluster
			findings, err := e.sharedClaims(t.Context(), m, sharing(tc.readOnly))
			if err != nil {
				t.Fatal(err)
			}
			if tc.reason == "" {
				if len(findings) > 0 {
					t.Errorf("found %+v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].Reason != tc.reason || findings[0].Warning != tc.warning || !strings.Contains(findings[0].Message, "shop/shared in cluster west") || findings[0].Remedy == "" {
				t.Errorf("found %+v, want %s", findings, tc.reason)
			}
		})
	}
}

// TestPodIsRehearsed: the pod of the first ordinal is sent to the destination in the form that the StatefulSet
// controller would create, and only as a dry run. A missing right is a warning (G12).
func TestPodIsRehearsed(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tc := range map[string]struct {
		answer  error
		reason  string
		warning bool
	}{
		"let in":      {nil, "", false},
		"not let in":  {apierrors.NewForbidden(pods, "web-2", errors.New(`violates PodSecurity "restricted:latest"`)), api.ReasonWriteRefused, false},
		"not allowed": {apierrors.NewForbidden(pods, "", errors.New(`User "mover" cannot create resource "pods" in API group "" in the namespace "shop"`)), api.ReasonPermissionMissing, true},
	} {
		t.Run(name, func(t *testing.T) {
			var shown []*corev1.Pod
			live := clustertest.Hooked(clustertest.Hooks{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
					said := client.CreateOptions{}
					said.ApplyOptions(options)
					if pod, ok := o.(*corev1.Pod); !ok || len(said.DryRun) != 1 {
						t.Errorf("%T with %+v is no dry run of a pod", o, said)
					} else {
						shown = append(shown, pod)
					}
					return tc.answer
				},
			})
			e := &Inspector{Pair: endpointtest.Pair(nil, live)}
			e.Destination.Set = "next"
			findings, err := e.admission(t.Context(), &api.Migration{}, sharing(false))
			if err != nil || len(shown) != 1 {
				t.Fatalf("%v; shown %d pods", err, len(shown))
			}
			if tc.reason == "" && len(findings) > 0 || tc.reason != "" && (len(findings) != 1 || findings[0].Reason != tc.reason || findings[0].Warning != tc.warning) {
				t.Errorf("found %+v, want %q", findings, tc.reason)
			}
			asTheControllerMakes(t, shown[0])
		})
	}
}

// asTheControllerMakes checks that a pod is that of ordinal 2 of StatefulSet next.
func asTheControllerMakes(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	claims := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		claims[v.Name] = v.PersistentVolumeClaim.ClaimName
	}
	owner := metav1.GetControllerOf(pod)
	if pod.Name != "next-2" || pod.Labels[appsv1.PodIndexLabel] != "2" || pod.Labels["app"] != "web" || pod.Spec.Hostname != "next-2" || pod.Spec.Subdomain != "web" ||
		claims["data"] != "data-next-2" || claims["shared"] != "shared" || len(claims) != 2 || owner == nil || owner.Name != "next" || owner.BlockOwnerDeletion != nil {
		t.Errorf("shown %+v", pod)
	}
}
