package harness

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

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
