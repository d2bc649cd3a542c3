package move

import (
	"context"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// makeRuntime creates a RuntimeClass, which several tests may create.
func (v *move) makeRuntime(client kubernetes.Interface, name string) {
	v.T.Helper()
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc"}
	_, err := client.NodeV1().RuntimeClasses().Create(v.Ctx, class, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		v.Must(err)
	}
}

// needRuntime adds a RuntimeClass to the pod template that exists only at the source.
func (v *move) needRuntime(name string) {
	v.T.Helper()
	v.makeRuntime(v.Source, name)
	v.patchSource(`{"spec":{"template":{"spec":{"runtimeClassName":"` + name + `"}}}}`)
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// shareClaim makes all ordinals share a claim on the path here. It also creates a claim of the same name at the
// destination on the path there, unless there is empty.
func (v *move) shareClaim(here, there string, changes ...func(*corev1.PersistentVolumeSpec)) {
	v.T.Helper()
	v.bindShared(v.Source, v.App.Namespace, here, changes...)
	if there != "" {
		v.bindShared(v.Destination, v.ToNamespace, there)
	}
	v.patchSource(`{"spec":{"template":{"spec":{"volumes":[{"name":"shared","persistentVolumeClaim":{"claimName":"shared"}}]}}}}`)
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

func (v *move) bindShared(client kubernetes.Interface, namespace, path string, changes ...func(*corev1.PersistentVolumeSpec)) {
	v.T.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "shared-" + namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: "shared"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs." + v.App.Namespace, Path: path}},
		},
	}
	for _, change := range changes {
		change(&volume.Spec)
	}
	_, err := client.CoreV1().PersistentVolumes().Create(v.Ctx, volume, metav1.CreateOptions{})
	v.Must(err)
	claims, none := client.CoreV1().PersistentVolumeClaims(namespace), ""
	_, err = claims.Create(v.Ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: volume.Spec.AccessModes, VolumeName: volume.Name, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Eventually("the shared claim is bound", func(ctx context.Context) (bool, error) {
		claim, err := claims.Get(ctx, "shared", metav1.GetOptions{})
		return err == nil && claim.Status.Phase == corev1.ClaimBound, err
	})
}

// restrictPods makes Pod Security refuse the application's pods at the destination.
func (v *move) restrictPods() {
	v.T.Helper()
	v.Must(v.makeNamespace())
	v.restrictPodsAt(v.There())
}

// restrictPodsAt makes Pod Security refuse new pods in a side's namespace.
func (v *move) restrictPodsAt(at harness.Endpoint) {
	v.T.Helper()
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err := at.Client.CoreV1().Namespaces().Patch(v.Ctx, at.Namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	v.Must(err)
}

// limitMemory limits the memory of a container at the destination.
func (v *move) limitMemory(most string) {
	v.T.Helper()
	_, err := v.Destination.CoreV1().LimitRanges(v.ToNamespace).Create(v.Ctx, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(most)},
		}}},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// keepPodsOut refuses every new pod in a side's namespace, except in a dry run, so that the preflight does not
// notice it. It waits until the policy is enforced.
func (v *move) keepPodsOut(at harness.Endpoint) {
	v.T.Helper()
	const probe = "probe"
	v.policy(at, keptOut(at), admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		admissionregistrationv1.Validation{Expression: `request.dryRun && object.metadata.name != "` + probe + `"`, Message: "no pods here"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: probe}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}
	v.Eventually("pods are kept out", func(ctx context.Context) (bool, error) {
		_, err := at.Client.CoreV1().Pods(at.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no pods here"), nil
	})
}

func (v *move) letPodsIn(at harness.Endpoint) error {
	return at.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(v.Ctx, keptOut(at), metav1.DeleteOptions{})
}

func keptOut(at harness.Endpoint) string { return "keep-out-" + at.Namespace }

// awaitObserved waits until the controller has observed the latest generation of the source.
func (v *move) awaitObserved() {
	v.T.Helper()
	v.Eventually("the controller has observed the source", func(ctx context.Context) (bool, error) {
		set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(ctx, v.App.Name, metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration >= set.Generation, err
	})
}
