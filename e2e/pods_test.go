package e2e

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// makeRuntime makes a RuntimeClass of a name that several tests may make.
func (v *move) makeRuntime(client kubernetes.Interface, name string) {
	v.t.Helper()
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc"}
	_, err := client.NodeV1().RuntimeClasses().Create(v.ctx, class, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		v.must(err)
	}
}

// needRuntime has the template name a RuntimeClass that is only at the source.
func (v *move) needRuntime(name string) {
	v.t.Helper()
	v.makeRuntime(v.source, name)
	v.patchSource(`{"spec":{"template":{"spec":{"runtimeClassName":"` + name + `"}}}}`)
	v.awaitObserved()
	v.must(v.app.AwaitReady(v.ctx, v.source))
}

// shareClaim has all ordinals share a claim on a path, and makes one of that name at the
// destination, on another path; empty: it makes none there.
func (v *move) shareClaim(here, there string) {
	v.t.Helper()
	v.bindShared(v.source, v.app.Namespace, here)
	if there != "" {
		v.bindShared(v.destination, v.toNamespace, there)
	}
	v.patchSource(`{"spec":{"template":{"spec":{"volumes":[{"name":"shared","persistentVolumeClaim":{"claimName":"shared"}}]}}}}`)
	v.awaitObserved()
	v.must(v.app.AwaitReady(v.ctx, v.source))
}

func (v *move) bindShared(client kubernetes.Interface, namespace, path string) {
	v.t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "shared-" + namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: "shared"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: path}},
		},
	}
	_, err := client.CoreV1().PersistentVolumes().Create(v.ctx, volume, metav1.CreateOptions{})
	v.must(err)
	claims, none := client.CoreV1().PersistentVolumeClaims(namespace), ""
	_, err = claims.Create(v.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, VolumeName: volume.Name, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	v.must(err)
	v.eventually("the shared claim is bound", func(ctx context.Context) (bool, error) {
		claim, err := claims.Get(ctx, "shared", metav1.GetOptions{})
		return err == nil && claim.Status.Phase == corev1.ClaimBound, err
	})
}

// restrictPods has Pod Security refuse the application's pods at the destination.
func (v *move) restrictPods() {
	v.t.Helper()
	v.must(v.makeNamespace())
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err := v.destination.CoreV1().Namespaces().Patch(v.ctx, v.toNamespace, types.MergePatchType, patch, metav1.PatchOptions{})
	v.must(err)
}

// keepPodsOut lets no pod be created in a side's namespace, but shows that to no dry
// run: the preflight does not see it. It waits until it does so.
func (v *move) keepPodsOut(at end) {
	v.t.Helper()
	const probe = "probe"
	v.policy(at, keptOut(at), admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		admissionregistrationv1.Validation{Expression: `request.dryRun && object.metadata.name != "` + probe + `"`, Message: "no pods here"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: probe}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}
	v.eventually("pods are kept out", func(ctx context.Context) (bool, error) {
		_, err := at.client.CoreV1().Pods(at.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && contains(err.Error(), "no pods here"), nil
	})
}

func (v *move) letPodsIn(at end) error {
	return at.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(v.ctx, keptOut(at), metav1.DeleteOptions{})
}

func keptOut(at end) string { return "keep-out-" + at.namespace }
