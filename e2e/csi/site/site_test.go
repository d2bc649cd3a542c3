package site_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

const driver = "disks.example.com"

// here is a cluster with the driver.
type here struct {
	testing.TB
	client.Client
	ctx    context.Context //nolint:containedctx // a test has one context
	site   *site.Site
	folder *csi.Folder
}

func start(t *testing.T, o csi.Options) *here {
	t.Helper()
	treetest.NeedRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	h := &here{TB: t, ctx: ctx}
	c, err := cluster.Start(ctx, cluster.Options{Name: "east", Attach: true})
	h.must(err)
	c.StopAfter(t)
	h.folder, err = csi.Make()
	h.must(err)
	t.Cleanup(func() {
		if err := h.folder.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Name = driver
	h.site, err = site.Start(ctx, site.Options{Cluster: c, Folder: h.folder, Driver: o, Sidecars: sidecar.All(), Logs: filepath.Join(filepath.Dir(c.LogFile(cluster.Kwok)), "csi")})
	h.must(err)
	t.Cleanup(h.site.Stop)
	h.Client, err = fixture.Client(c.RESTConfig())
	h.must(err)
	return h
}

func (h *here) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *here) until(what string, so func(context.Context) (bool, error)) {
	h.Helper()
	if err := wait.PollUntilContextCancel(h.ctx, 20*time.Millisecond, true, so); err != nil {
		h.Fatalf("%s: %v", what, err)
	}
}

// claim creates a claim, from a snapshot unless that is empty.
func (h *here) claim(name, snapshot string) *corev1.PersistentVolumeClaim {
	h.Helper()
	class := driver
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("320Mi")}},
	}}
	if snapshot != "" {
		group := site.SnapshotVersion.Group
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: snapshot}
	}
	h.must(h.Create(h.ctx, claim))
	return claim
}

// pod creates a pod that uses a claim, and returns the mount path of its volume once the pod is Ready.
func (h *here) pod(name, claim string) (pod *corev1.Pod, at string) {
	h.Helper()
	pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: kubelet.Annotations(driver)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "app:1"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	h.must(h.Create(h.ctx, pod))
	h.until("pod "+name+" is ready", func(ctx context.Context) (bool, error) {
		if err := h.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	bound := &corev1.PersistentVolumeClaim{}
	h.must(h.Get(h.ctx, types.NamespacedName{Namespace: "default", Name: claim}, bound))
	return pod, h.site.Kubelet.Path(pod.UID, bound.Spec.VolumeName)
}

// gone deletes an object, and waits until it no longer exists.
func (h *here) gone(object client.Object) {
	h.Helper()
	h.must(h.Delete(h.ctx, object))
	h.until(object.GetName()+" is gone", func(ctx context.Context) (bool, error) {
		err := h.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func (h *here) expect(path, want string) {
	h.Helper()
	if have, err := os.ReadFile(path); string(have) != want || err != nil {
		h.Errorf("%s has %q (%v), want %q", path, have, err, want)
	}
}

// TestSite covers the life of a claim of the driver in a cluster, with the sidecars of the Kubernetes project.
func TestSite(t *testing.T) {
	h := start(t, csi.Options{Attach: true, System: "xfs"})
	claim := h.claim("data", "")
	pod, at := h.pod("app", "data")
	h.must(os.WriteFile(filepath.Join(at, "file"), []byte("first"), 0o600))

	snapshot := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"volumeSnapshotClassName": driver, "source": map[string]any{"persistentVolumeClaimName": "data"},
	}}}
	snapshot.SetGroupVersionKind(site.SnapshotVersion.WithKind("VolumeSnapshot"))
	snapshot.SetNamespace("default")
	snapshot.SetName("then")
	h.must(h.Create(h.ctx, snapshot))
	h.until("the snapshot is ready", func(ctx context.Context) (bool, error) {
		err := h.Get(ctx, client.ObjectKeyFromObject(snapshot), snapshot)
		ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse")
		return ready, err
	})
	h.must(os.WriteFile(filepath.Join(at, "file"), []byte("second"), 0o600))
	restored := h.claim("restored", "then")
	reader, copied := h.pod("reader", "restored")
	h.expect(filepath.Join(copied, "file"), "first")
	h.expect(filepath.Join(at, "file"), "second")

	h.grow(claim, "640Mi")
	h.gone(pod)
	h.gone(reader)
	h.until("nothing is attached", func(context.Context) (bool, error) {
		volumes, err := h.folder.Volumes()
		for _, v := range volumes {
			if len(v.Published) > 0 || v.Node != "" {
				return false, err
			}
		}
		return true, err
	})
	_, at = h.pod("again", "data")
	h.expect(filepath.Join(at, "file"), "second")
	h.gone(restored)
	h.gone(snapshot)
	h.until("one volume is left", func(context.Context) (bool, error) {
		volumes, err := h.folder.Volumes()
		snapshots, failed := h.folder.Snapshots()
		return len(volumes) == 1 && len(snapshots) == 0 && failed == nil, err
	})
	if refused, err := h.folder.Refusals(); len(refused) > 0 || err != nil {
		t.Errorf("calls were refused (%v): %+v", err, refused)
	}
}

// grow requests a larger size, and waits until the claim has it.
func (h *here) grow(claim *corev1.PersistentVolumeClaim, size string) {
	h.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`))
	h.must(h.Patch(h.ctx, claim, patch))
	h.until("the claim has grown", func(ctx context.Context) (bool, error) {
		err := h.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		return claim.Status.Capacity.Storage().Cmp(resource.MustParse(size)) == 0, err
	})
}
