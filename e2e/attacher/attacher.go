// Package attacher simulates the external-attacher for CSI drivers without a backend, in an embedded cluster. It
// attaches and detaches volumes at once, as the cluster's attach controller requests. The disks of e2e/csi use the
// attacher of the Kubernetes project.
package attacher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// managed is the annotation of nodes whose volumes the cluster's controller attaches. Kubelets set it.
const managed = "volumes.kubernetes.io/controller-managed-attach-detach"

// Attacher attaches the volumes of one cluster.
type Attacher struct {
	client client.Client
	stop   context.CancelFunc
	done   chan struct{}
}

// Start lets the cluster's attach controller attach volumes to all present nodes, and answers it until Stop.
func Start(ctx context.Context, at *rest.Config) (*Attacher, error) {
	mgr, err := ctrl.NewManager(at, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(), Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &Attacher{client: mgr.GetClient(), stop: stop, done: make(chan struct{})}
	soon := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](10*time.Millisecond, time.Second)
	err = ctrl.NewControllerManagedBy(mgr).For(&storagev1.VolumeAttachment{}).WithOptions(controller.Options{RateLimiter: soon}).Complete(a)
	if err == nil {
		err = manage(ctx, mgr.GetAPIReader(), a.client)
	}
	if err != nil {
		stop()
		return nil, err
	}
	go func() {
		defer close(a.done)
		if err := mgr.Start(lifetime); err != nil && lifetime.Err() == nil {
			panic(fmt.Sprintf("the attacher ended: %v", err))
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		a.Stop()
		return nil, fmt.Errorf("the attachments of %s were not read: %w", at.Host, ctx.Err())
	}
	return a, nil
}

// manage annotates all nodes, as kubelets do, so that the controller attaches their volumes.
func manage(ctx context.Context, live client.Reader, c client.Client) error {
	var nodes corev1.NodeList
	if err := live.List(ctx, &nodes); err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, managed))
	for i := range nodes.Items {
		if err := c.Patch(ctx, &nodes.Items[i], patch); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops the attacher.
func (a *Attacher) Stop() {
	a.stop()
	<-a.done
}

// Reconcile does the next step for one VolumeAttachment, in the order of the external-attacher: it sets its finalizer,
// attaches, and removes the finalizer once the volume is detached.
func (a *Attacher) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	attachment := &storagev1.VolumeAttachment{}
	if err := a.client.Get(ctx, request.NamespacedName, attachment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before, own := attachment.DeepCopy(), "external-attacher/"+attachment.Spec.Attacher
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	has := controllerutil.ContainsFinalizer(attachment, own)
	var err error
	switch leaves := attachment.DeletionTimestamp != nil; {
	case leaves && has:
		controllerutil.RemoveFinalizer(attachment, own)
		err = a.client.Patch(ctx, attachment, changes)
	case leaves || attachment.Status.Attached:
	case !has:
		controllerutil.AddFinalizer(attachment, own)
		err = a.client.Patch(ctx, attachment, changes)
	default:
		attachment.Status.Attached = true
		err = a.client.Status().Patch(ctx, attachment, client.MergeFrom(before))
	}
	if apierrors.IsConflict(err) {
		err = nil // the cache will show the change
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// Attached reports whether the volumes of a pod are attached to its node only.
func Attached(ctx context.Context, c kubernetes.Interface, pod *corev1.Pod) (bool, error) {
	all, err := c.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := c.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, volume.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		of := slices.DeleteFunc(slices.Clone(all.Items), func(a storagev1.VolumeAttachment) bool {
			return ptr.Deref(a.Spec.Source.PersistentVolumeName, "") != claim.Spec.VolumeName
		})
		if len(of) != 1 || of[0].Spec.NodeName != pod.Spec.NodeName || !of[0].Status.Attached {
			return false, nil
		}
	}
	return true, nil
}
