package move

import (
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/hostile"
)

// victimsVolume creates a volume in the manager's own cluster that is bound to the claim of another tenant.
func (h *tenant) victimsVolume() *corev1.PersistentVolume {
	h.t.Helper()
	ctx, name := h.t.Context(), "victim-"+rand.String(8)
	modes, size := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: modes, Capacity: size, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "hostile.example.com", VolumeHandle: name}},
		ClaimRef:               &corev1.ObjectReference{Namespace: name, Name: "data-db-0"},
	}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "data-db-0"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeName: name, StorageClassName: new(""),
	}}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, volume, claim} {
		h.must(h.client.Create(ctx, object))
	}
	for volume.Status.Phase != corev1.VolumeBound || volume.Spec.ClaimRef.UID == "" {
		harness.Sleep(ctx, 50*time.Millisecond)
		h.must(ctx.Err())
		h.must(h.client.Get(ctx, client.ObjectKeyFromObject(volume), volume))
	}
	return volume
}

// impostors: a source claims to be the manager's own cluster by returning its UID. No volume of that cluster is
// written, whatever the source answers and however much it knows of that cluster.
func impostors(h *tenant) {
	for name, lies := range map[string]func(h *tenant, s *hostile.Server, victim *corev1.PersistentVolume){
		"it knows no more": func(*tenant, *hostile.Server, *corev1.PersistentVolume) {},
		"it knows the revision": func(h *tenant, s *hostile.Server, _ *corev1.PersistentVolume) {
			relayRevision(h, s)
		},
		"without a UID and a version": func(h *tenant, s *hostile.Server, victim *corev1.PersistentVolume) {
			relayRevision(h, s)
			s.Faceless("persistentvolumes", victim.Name)
			s.Put("persistentvolumes", s.Find("persistentvolumes", "", victim.Name))
		},
		"it knows the volume": func(h *tenant, s *hostile.Server, victim *corev1.PersistentVolume) {
			relayRevision(h, s)
			volume := s.Find("persistentvolumes", "", victim.Name)
			metadata, _ := volume["metadata"].(hostile.Object)
			metadata["uid"], metadata["resourceVersion"] = string(victim.UID), victim.ResourceVersion
			s.Swap("persistentvolumes", volume)
		},
	} {
		each := h.tenant(h.t)
		victim := each.victimsVolume()
		s := each.server("impostor")
		each.poses(s, victim.Name)
		lies(each, s, victim)
		m := each.migrates("impostor", "impostor", "")
		h.t.Logf("%s: %s", name, each.refusedFor(m, victim))
	}
}

// refusedFor waits until a Migration is refused and returns the reason. It checks that the victim's volume
// remains unchanged.
func (h *tenant) refusedFor(m *api.Migration, victim *corev1.PersistentVolume) string {
	h.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		after := &corev1.PersistentVolume{}
		h.must(h.client.Get(h.t.Context(), client.ObjectKeyFromObject(m), m))
		h.must(h.client.Get(h.t.Context(), client.ObjectKeyFromObject(victim), after))
		if after.ResourceVersion != victim.ResourceVersion {
			h.t.Fatalf("the victim's volume was written: claimRef %+v, policy %s, annotations %v", after.Spec.ClaimRef, after.Spec.PersistentVolumeReclaimPolicy, after.Annotations)
		}
		for _, condition := range m.Status.Conditions {
			switch condition.Reason {
			case api.ReasonClusterNotProven, api.ReasonClusterUnreachable:
				return condition.Reason + ": " + condition.Message
			case api.ReasonMoved, api.ReasonWriteRefused:
				h.t.Fatalf("it came to a write: %s: %s", condition.Reason, condition.Message)
			}
		}
		harness.Sleep(h.t.Context(), 50*time.Millisecond)
	}
	h.t.Fatalf("it is not refused: %+v", m.Status)
	return ""
}

// poses makes a server claim to be the manager's own cluster. Its application has a volume with the name of a
// volume of that cluster.
func (h *tenant) poses(s *hostile.Server, volume string) {
	h.t.Helper()
	system, claim := &corev1.Namespace{}, "data-web-0"
	h.must(h.client.Get(h.t.Context(), types.NamespacedName{Name: metav1.NamespaceSystem}, system))
	s.Deploy(h.namespace, "web", 1)
	s.Put("namespaces", hostile.Object{"metadata": hostile.Object{"name": metav1.NamespaceSystem, "uid": string(system.UID)}})
	s.Remove("persistentvolumes", "", hostile.VolumeName(h.namespace, claim))
	bound := s.Find("persistentvolumeclaims", h.namespace, claim)
	bound["spec"].(hostile.Object)["volumeName"], bound["status"] = volume, hostile.Object{}
	posed := hostile.VolumeOf(h.namespace, claim)
	posed["metadata"] = hostile.Object{"name": volume}
	s.Put("persistentvolumes", posed)
	s.Put("persistentvolumeclaims", bound)
}

// relayRevision makes a server list budgets at the revision of the manager's own cluster.
func relayRevision(h *tenant, s *hostile.Server) {
	s.Hook(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.URL.Query().Get("watch") != "" || !strings.HasSuffix(r.URL.Path, "/poddisruptionbudgets") {
			return false
		}
		list, err := h.typed.PolicyV1().PodDisruptionBudgets(h.namespace).List(r.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		hostile.JSON(w, http.StatusOK, hostile.List("poddisruptionbudgets", list.ResourceVersion))
		return true
	})
}
