// Package attacher simulates the external-attacher for CSI drivers without a backend, in an embedded cluster. It
// attaches and detaches volumes at once, as the cluster's attach controller requests. The disks of e2e/csi use the
// attacher of the Kubernetes project.
package attacher

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// managed is the annotation of nodes whose volumes the cluster's controller attaches. Kubelets set it.
const managed = "volumes.kubernetes.io/controller-managed-attach-detach"

// Attacher attaches the volumes of one cluster.
type Attacher struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	lister cache.Store
	stop   context.CancelFunc
	done   chan struct{}
}

// Start lets the cluster's attach controller attach volumes to all present nodes, and answers it until Stop.
func Start(ctx context.Context, config *rest.Config) (*Attacher, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := manage(ctx, client); err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Storage().V1().VolumeAttachments().Informer()
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &Attacher{
		client: client, stop: stop, done: make(chan struct{}), lister: informer.GetStore(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, time.Second)),
	}
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			a.queue.Add(key)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}); err != nil {
		stop()
		return nil, err
	}
	factory.Start(lifetime.Done())
	factory.WaitForCacheSync(ctx.Done())
	go a.run(lifetime)
	return a, nil
}

// manage annotates all nodes, as kubelets do, so that the controller attaches their volumes.
func manage(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, managed)
	for _, node := range nodes.Items {
		if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops the attacher.
func (a *Attacher) Stop() {
	a.stop()
	a.queue.ShutDown()
	<-a.done
}

func (a *Attacher) run(ctx context.Context) {
	defer close(a.done)
	for {
		key, over := a.queue.Get()
		if over {
			return
		}
		if err := a.answer(ctx, key); err != nil && ctx.Err() == nil {
			a.queue.AddRateLimited(key)
		} else {
			a.queue.Forget(key)
		}
		a.queue.Done(key)
	}
}

// answer does the next step for one VolumeAttachment, in the order of the external-attacher: it sets its finalizer, attaches, and
// removes the finalizer once the volume is detached.
func (a *Attacher) answer(ctx context.Context, key string) error {
	object, found, err := a.lister.GetByKey(key)
	if err != nil || !found {
		return err
	}
	attachment, is := object.(*storagev1.VolumeAttachment)
	if !is {
		return fmt.Errorf("%s is a %T", key, object)
	}
	own := "external-attacher/" + attachment.Spec.Attacher
	has := slices.Contains(attachment.Finalizers, own)
	switch leaves := attachment.DeletionTimestamp != nil; {
	case leaves && has:
		return a.finalizers(ctx, attachment, slices.DeleteFunc(slices.Clone(attachment.Finalizers), func(name string) bool { return name == own }))
	case leaves || attachment.Status.Attached:
		return nil
	case !has:
		return a.finalizers(ctx, attachment, append(slices.Clone(attachment.Finalizers), own))
	}
	_, err = a.client.StorageV1().VolumeAttachments().Patch(ctx, attachment.Name, types.MergePatchType, []byte(`{"status":{"attached":true}}`), metav1.PatchOptions{}, "status")
	return ignoreGone(err)
}

func (a *Attacher) finalizers(ctx context.Context, attachment *storagev1.VolumeAttachment, names []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": attachment.ResourceVersion, "finalizers": names}})
	if err != nil {
		return err
	}
	_, err = a.client.StorageV1().VolumeAttachments().Patch(ctx, attachment.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreGone(err)
}

// ignoreGone ignores that an attachment was deleted or has changed: the informer reports that.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Of returns the attachments of a volume.
func Of(ctx context.Context, client kubernetes.Interface, volume string) ([]storagev1.VolumeAttachment, error) {
	all, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all.Items, func(a storagev1.VolumeAttachment) bool {
		name := a.Spec.Source.PersistentVolumeName
		return name == nil || *name != volume
	}), nil
}

// Attached reports whether the volumes of a pod are attached to its node only.
func Attached(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (bool, error) {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, volume.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		attachments, err := Of(ctx, client, claim.Spec.VolumeName)
		if err != nil {
			return false, err
		}
		if len(attachments) != 1 || attachments[0].Spec.NodeName != pod.Spec.NodeName || !attachments[0].Status.Attached {
			return false, nil
		}
	}
	return true, nil
}
