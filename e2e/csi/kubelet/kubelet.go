// Package kubelet handles the volumes of a CSI driver like a kubelet, for the pods of one node of an embedded cluster.
// kwok simulates the rest of the kubelet. Annotations of the pod (Annotations) delay kwok until the pod's volumes are
// mounted, and until those of a deleted pod are unmounted:
//
//   - the node reports that the driver runs on it (CSINode), and that the cluster's own controller
//     attaches its volumes;
//   - a volume is in use (status.volumesInUse of the node) from before it is mounted until after it
//     is unmounted, so that it is not detached in between;
//   - a volume is staged when its VolumeAttachment reports that it is attached, with the attachment's
//     metadata, and is published for each pod;
//   - a claim that has grown is grown on the node, and its status reports it.
package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// held is longer than any test: the kubelet releases a pod earlier.
const held = "24h"

// pause is the interval between two attempts.
const pause = 50 * time.Millisecond

// driverKey names the driver whose kubelet handles a pod.
const driverKey = "e2e.sliceshift.io/driver"

// Annotations returns the annotations of pods whose volumes of a driver are mounted before they are Ready, and
// unmounted before their objects are deleted.
func Annotations(driver string) map[string]string {
	return map[string]string{driverKey: driver, cluster.ReadyDelayAnnotationKey: held, cluster.DeleteDelayAnnotationKey: held}
}

// Options configure a kubelet for one node and one driver.
type Options struct {
	// Config reaches the cluster as its administrator.
	Config *rest.Config
	// Node is the name of the node.
	Node string
	// Driver is the name of the driver, Endpoint its address on this node.
	Driver, Endpoint string
	// Attach is true if the driver's volumes are attached before they are staged.
	Attach bool
	// Dir is where volumes are mounted, Log the path of the log file.
	Dir, Log string
}

// Kubelet runs until it is stopped.
type Kubelet struct {
	options    Options
	client     kubernetes.Interface
	connection *grpc.ClientConn
	driver     spec.NodeClient
	log        *log.Logger
	file       *os.File
	stop       context.CancelFunc
	running    sync.WaitGroup

	mu      sync.Mutex
	pods    map[types.UID]*life
	mounts  map[string]*mounted // by the names of volumes
	growing map[types.UID]bool  // claims
}

// Start starts a kubelet.
func Start(ctx context.Context, o Options) (*Kubelet, error) {
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(o.Log)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(o.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	k := &Kubelet{
		options: o, client: client, connection: connection, driver: spec.NewNodeClient(connection),
		log: log.New(file, "", log.Ltime|log.Lmicroseconds), file: file, stop: stop,
		pods: map[types.UID]*life{}, mounts: map[string]*mounted{}, growing: map[types.UID]bool{},
	}
	if err = k.register(ctx); err == nil {
		err = k.watch(ctx)
	}
	if err != nil {
		k.Stop()
		return nil, fmt.Errorf("kubelet of node %s: %w", o.Node, err)
	}
	return k, nil
}

// Stop ends the kubelet. Mounts remain, as when a kubelet restarts.
func (k *Kubelet) Stop() {
	k.stop()
	k.running.Wait()
	_ = k.connection.Close()
	_ = k.file.Close()
}

// watch follows the pods of the node.
func (k *Kubelet) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", k.options.Node).String()
	}))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.see(ctx, o, false) },
		UpdateFunc: func(_, o any) { k.see(ctx, o, false) },
		DeleteFunc: func(o any) { k.see(ctx, o, true) },
	})
	if err != nil {
		return err
	}
	claims := informers.NewSharedInformerFactory(k.client, 0)
	_, err = claims.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.seeClaim(ctx, o) },
		UpdateFunc: func(_, o any) { k.seeClaim(ctx, o) },
	})
	if err != nil {
		return err
	}
	claims.Start(ctx.Done())
	factory.Start(ctx.Done())
	k.running.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
		claims.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return fmt.Errorf("the pods of %s were not read: %w", k.options.Config.Host, ctx.Err())
	}
	return nil
}

// life is the state of one pod.
type life struct {
	leave context.CancelFunc // called when the pod was deleted
}

func (k *Kubelet) see(ctx context.Context, o any, gone bool) {
	if unknown, is := o.(cache.DeletedFinalStateUnknown); is {
		o = unknown.Obj
	}
	pod, is := o.(*corev1.Pod)
	if !is || pod.Annotations[driverKey] != k.options.Driver || ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.pods[pod.UID]
	if l == nil && !gone {
		stays, leave := context.WithCancel(ctx)
		l = &life{leave: leave}
		k.pods[pod.UID] = l
		k.running.Go(func() { k.play(ctx, stays, pod) })
	}
	if l != nil && (gone || pod.DeletionTimestamp != nil) {
		l.leave()
	}
	if gone {
		delete(k.pods, pod.UID)
	}
}

// play handles a pod from its creation to its deletion.
func (k *Kubelet) play(ctx, stays context.Context, pod *corev1.Pod) {
	err := k.until(stays, pod, func(ctx context.Context) error { return k.mountAll(ctx, pod) })
	if err == nil {
		_ = k.until(stays, pod, func(ctx context.Context) error { return k.letGo(ctx, pod, cluster.ReadyDelayAnnotationKey) })
	}
	<-stays.Done()
	if k.until(ctx, pod, func(ctx context.Context) error { return k.Unmount(ctx, pod) }) == nil {
		_ = k.until(ctx, pod, func(ctx context.Context) error { return k.letGo(ctx, pod, cluster.DeleteDelayAnnotationKey) })
	}
}

// until repeats do until it succeeds.
func (k *Kubelet) until(ctx context.Context, pod *corev1.Pod, do func(context.Context) error) error {
	last := ""
	return wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		err := do(ctx)
		if err != nil && err.Error() != last {
			last = err.Error()
			k.log.Printf("pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
		return err == nil, nil
	})
}

// letGo removes the annotation that delays kwok from the pod with that uid.
func (k *Kubelet) letGo(ctx context.Context, pod *corev1.Pod, key string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{key: nil}}})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the pod is deleted, or another pod has its name
	}
	return err
}

// claims returns the names of the claims that a pod uses.
func claims(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// managed is the annotation of nodes whose volumes the cluster's controller attaches. Kubelets set it.
const managed = "volumes.kubernetes.io/controller-managed-attach-detach"

// register reports to the cluster that the driver runs on the node.
func (k *Kubelet) register(ctx context.Context) error {
	info, err := k.driver.NodeGetInfo(ctx, &spec.NodeGetInfoRequest{})
	if err != nil {
		return err
	}
	entry := storagev1.CSINodeDriver{Name: k.options.Driver, NodeID: info.GetNodeId()}
	if most := info.GetMaxVolumesPerNode(); most > 0 {
		entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(most))}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{managed: "true"}}})
	if err != nil {
		return err
	}
	node, err := k.client.CoreV1().Nodes().Patch(ctx, k.options.Node, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	nodes := k.client.StorageV1().CSINodes()
	_, err = nodes.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
	}}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		at, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		at.Spec.Drivers = append(slices.DeleteFunc(at.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == entry.Name }), entry)
		_, err = nodes.Update(ctx, at, metav1.UpdateOptions{})
		return err
	})
}

// inUse records in the status of the node whether a volume is in use: a volume in use is not detached.
func (k *Kubelet) inUse(ctx context.Context, volume *corev1.PersistentVolume, is bool) error {
	name := corev1.UniqueVolumeName("kubernetes.io/csi/" + volume.Spec.CSI.Driver + "^" + volume.Spec.CSI.VolumeHandle)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := k.client.CoreV1().Nodes().Get(ctx, k.options.Node, metav1.GetOptions{})
		if err != nil || slices.Contains(node.Status.VolumesInUse, name) == is {
			return err
		}
		node.Status.VolumesInUse = slices.DeleteFunc(node.Status.VolumesInUse, func(n corev1.UniqueVolumeName) bool { return n == name })
		if is {
			node.Status.VolumesInUse = append(node.Status.VolumesInUse, name)
		}
		_, err = k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
