package harness

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Endpoint identifies one of the two slices.
type Endpoint struct {
	// Client has the rights of the cluster's administrator.
	Client         kubernetes.Interface
	Namespace, Set string
}

// Here returns the source.
func (v *Move) Here() Endpoint { return Endpoint{v.Source, v.App.Namespace, v.App.Name} }

// There returns the destination.
func (v *Move) There() Endpoint { return Endpoint{v.Destination, v.ToNamespace, v.ToName} }

// ExpectSlice checks the ordinals of a slice and that all of them are available.
func (v *Move) ExpectSlice(at Endpoint, start, replicas int32) {
	v.T.Helper()
	set, err := at.Client.AppsV1().StatefulSets(at.Namespace).Get(v.Ctx, at.Set, metav1.GetOptions{})
	v.Must(err)
	have := int32(0)
	if set.Spec.Ordinals != nil {
		have = set.Spec.Ordinals.Start
	}
	if *set.Spec.Replicas != replicas || replicas > 0 && have != start {
		v.T.Errorf("%s/%s owns [%d,%d), want [%d,%d)", at.Namespace, set.Name, have, have+*set.Spec.Replicas, start, start+replicas)
	}
	if fence := set.Annotations[api.FenceAnnotationKey]; fence != "" {
		v.T.Errorf("%s/%s still carries the fence %s", at.Namespace, set.Name, fence)
	}
	v.Must(fixture.App{Namespace: at.Namespace, Name: at.Set}.AwaitReady(v.Ctx, at.Client))
}

// ExpectMoved checks that everything is at the destination and restored.
func (v *Move) ExpectMoved() {
	v.T.Helper()
	v.ExpectSlice(v.Here(), v.App.Start, 0)
	v.ExpectSlice(v.There(), v.App.Start, v.App.Replicas)
	v.ExpectBudget(v.There())
	v.ExpectVolumes(v.There(), v.App.Replicas*int32(len(v.App.Claims)))
}

// ExpectMovedCleanly checks that everything is at the destination and restored, and that the auditor agrees.
func (v *Move) ExpectMovedCleanly() {
	v.T.Helper()
	v.ExpectMoved()
	v.Audit()
}

// ExpectBack checks that everything is at the source again, and that the destination is empty.
func (v *Move) ExpectBack() {
	v.T.Helper()
	v.ExpectSlice(v.Here(), v.App.Start, v.App.Replicas)
	v.ExpectBudget(v.Here())
	v.ExpectVolumes(v.Here(), v.App.Replicas*int32(len(v.App.Claims)))
	if _, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Get(v.Ctx, v.ToName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		v.T.Errorf("the destination StatefulSet was not removed: %v", err)
	}
	claims, err := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	if len(claims.Items) > 0 && v.ToNamespace+v.To.Name() != v.App.Namespace+v.From.Name() {
		v.T.Errorf("%d claims were left at the destination", len(claims.Items))
	}
}

// ExpectBudget checks that a side has the budget in the form that its author wrote.
func (v *Move) ExpectBudget(at Endpoint) {
	v.T.Helper()
	if v.App.MaxUnavailable == nil && v.App.MinAvailable == nil {
		return
	}
	budget, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	if !same(budget.Spec.MaxUnavailable, v.App.MaxUnavailable) || !same(budget.Spec.MinAvailable, v.App.MinAvailable) {
		v.T.Errorf("budget is maxUnavailable %v minAvailable %v, want %v and %v", budget.Spec.MaxUnavailable, budget.Spec.MinAvailable, v.App.MaxUnavailable, v.App.MinAvailable)
	}
}

func same(a, b *intstr.IntOrString) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// ExpectVolumes checks the number of bound claims of a slice, and that their volumes have their original
// reclaim policy again.
func (v *Move) ExpectVolumes(at Endpoint, want int32) {
	v.T.Helper()
	volumes, err := at.Client.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	bound := int32(0)
	for _, volume := range volumes.Items {
		ref := volume.Spec.ClaimRef
		if ref == nil || ref.Namespace != at.Namespace || !v.IsClaim(ref.Name, at.Set) {
			continue
		}
		if volume.Status.Phase == corev1.VolumeBound {
			bound++
		}
		if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			v.T.Errorf("volume %s of claim %s has policy %s", volume.Name, ref.Name, volume.Spec.PersistentVolumeReclaimPolicy)
		}
	}
	if bound != want {
		v.T.Errorf("%d volumes are bound in %s, want %d", bound, at.Namespace, want)
	}
}

// IsClaim reports whether a claim belongs to the StatefulSet and is not parked.
func (v *Move) IsClaim(name, set string) bool {
	for _, template := range v.App.Claims {
		if ordinal, found := strings.CutPrefix(name, template+"-"+set+"-"); found {
			_, err := strconv.Atoi(ordinal)
			return err == nil
		}
	}
	return false
}

// clearWithin bounds Clear, because a test may have stopped a part of its clusters permanently.
const clearWithin = 10 * time.Second

// Clear deletes the pods and the volumes that a move has left, so that the next move starts with clusters as
// empty as before. Controllers list all pods and volumes repeatedly.
func (v *Move) Clear() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Ctx), clearWithin)
	defer cancel()
	err := clearNamespace(ctx, v.Source, v.App.Namespace)
	if v.To != v.From || v.ToNamespace != v.App.Namespace {
		err = errors.Join(err, clearNamespace(ctx, v.Destination, v.ToNamespace))
	}
	if err != nil {
		v.T.Logf("what the move has left is not all deleted: %v", err)
	}
}

// clearNamespace deletes all StatefulSets, pods and claims of a namespace, and the volumes of these claims.
func clearNamespace(ctx context.Context, client kubernetes.Interface, namespace string) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	all := metav1.ListOptions{}
	err := errors.Join(
		client.AppsV1().StatefulSets(namespace).DeleteCollection(ctx, background, all),
		client.CoreV1().Pods(namespace).DeleteCollection(ctx, now, all),
		client.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, background, all),
	)
	if err != nil {
		return err
	}
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, all)
	if err != nil {
		return err
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if of := volume.Spec.ClaimRef; of == nil || of.Namespace != namespace {
			continue
		}
		if err := client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, background); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
