package downtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/e2e/player"
)

// driver is the name of the CSI driver, of its StorageClass and of its VolumeSnapshotClass.
const driver = "disks.example.com"

// side is one cluster with its kubelets: kwok and the driver's kubelet run the application, a player runs the pods of
// movers and of rsync.
type side struct {
	*cluster.Cluster
	client kubernetes.Interface
	site   *site.Site
	player *player.Player
}

// bed holds two clusters that share a storage backend.
type bed struct {
	folder     *csi.Folder
	east, west *side
}

// newBed starts both clusters. If a step fails, it stops the parts that run.
func newBed(ctx context.Context, w measure.Workshop) (_ *bed, err error) {
	mover, err := w.Command(ctx, "mover")
	if err != nil {
		return nil, err
	}
	serve, send, err := writePrograms(w.Dir)
	if err != nil {
		return nil, err
	}
	b := &bed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if b.folder, err = csi.Make(); err != nil {
		return nil, err
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Log: os.Stderr, Attach: true}, "east", "west")
	if err != nil {
		return nil, err
	}
	b.east, b.west = &side{Cluster: both[0]}, &side{Cluster: both[1]}
	for _, each := range []*side{b.east, b.west} {
		if each.client, err = kubernetes.NewForConfig(each.RESTConfig()); err != nil {
			return nil, err
		}
		logs := filepath.Join(w.Dir, each.Name())
		each.site, err = site.Start(ctx, site.Options{
			Cluster: each.Cluster, Folder: b.folder, Driver: csi.Options{Name: driver, Attach: true, System: "ext4"}, Logs: filepath.Join(logs, "csi"),
			Sidecars: []sidecar.Name{sidecar.Attacher, sidecar.Provisioner, sidecar.SnapshotController, sidecar.Snapshotter},
		})
		if err != nil {
			return nil, err
		}
		each.player, err = player.Start(ctx, player.Options{
			Config: each.RESTConfig(), Program: mover, Programs: map[string]string{serveProgram: serve, sendProgram: send}, Dir: filepath.Join(logs, "pods"), Volumes: each.site.Kubelet,
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// stop ends everything and removes all disks.
func (b *bed) stop() error {
	var clusters []*cluster.Cluster
	for _, each := range []*side{b.east, b.west} {
		if each == nil {
			continue
		}
		if each.player != nil {
			each.player.Stop()
		}
		if each.site != nil {
			each.site.Stop()
		}
		clusters = append(clusters, each.Cluster)
	}
	err := cluster.StopAll(clusters)
	if b.folder != nil {
		err = errors.Join(err, b.folder.Close())
	}
	return err
}

// attachIn sets how long the driver takes to attach and to detach a disk.
func (b *bed) attachIn(span time.Duration) {
	for _, each := range []*side{b.east, b.west} {
		each.site.Driver.Delay("ControllerPublishVolume", span)
		each.site.Driver.Delay("ControllerUnpublishVolume", span)
	}
}

// app is an application of one replica on a disk, of which no more than one pod may be down.
func app(namespace string, size int64) fixture.App {
	a := measure.Application(namespace, "web", 1)
	a.Annotations = kubelet.Annotations(driver)
	a.Adapt = func(set *appsv1.StatefulSet) {
		claim := &set.Spec.VolumeClaimTemplates[0].Spec
		claim.StorageClassName = new(driver)
		claim.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(capacity(size), resource.BinarySI)}
	}
	return a
}

// capacity returns the capacity of a disk for data of a size: half as much again, so that a file system with its metadata
// has room for it.
func capacity(size int64) int64 {
	const least = 64 << 20
	return max(least, size*3/2)
}

// deploy deploys an application in east and fills its disk. It returns the folder in which the disk is mounted.
func (b *bed) deploy(ctx context.Context, a fixture.App, size int64) (string, error) {
	if err := a.Deploy(ctx, b.east.client); err != nil {
		return "", err
	}
	folder, err := b.east.mounted(ctx, a)
	if err != nil {
		return "", err
	}
	return folder, fill(folder, size)
}

// arrived returns an error unless the disk of an application's pod in west has all of its data.
func (b *bed) arrived(ctx context.Context, a fixture.App, size int64) error {
	folder, err := b.west.mounted(ctx, a)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(folder, dataFile))
	if err == nil && info.Size() != size {
		err = fmt.Errorf("%d of %d bytes have arrived", info.Size(), size)
	}
	return err
}

// mounted returns the folder in which the disk of an application's pod is mounted.
func (s *side) mounted(ctx context.Context, a fixture.App) (string, error) {
	name := podOf(a)
	pod, err := s.client.CoreV1().Pods(a.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	volume, err := fixture.BoundVolume(ctx, s.client, a.Namespace, measure.Template+"-"+name)
	if err != nil {
		return "", err
	}
	return s.site.Kubelet.Path(pod.UID, volume.Name), nil
}

func podOf(a fixture.App) string { return fmt.Sprintf("%s-%d", a.Name, a.Start) }

// clear deletes the namespace of an application in both clusters, waits until all disks are detached, and deletes them: a
// move keeps disks, and the next scene needs the room.
func (b *bed) clear(ctx context.Context, namespace string) error {
	for _, each := range []*side{b.east, b.west} {
		if err := each.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	err := wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, each := range []*side{b.east, b.west} {
			if _, err := each.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		volumes, err := b.folder.Volumes()
		for _, v := range volumes {
			if len(v.Published) > 0 || v.Node != "" {
				return false, err
			}
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("clearing namespace %s: %w", namespace, err)
	}
	return b.deleteDisks(ctx)
}

// deleteDisks deletes all disks and snapshots of the storage backend.
func (b *bed) deleteDisks(ctx context.Context) error {
	volumes, err := b.folder.Volumes()
	if err != nil {
		return err
	}
	var errs []error
	for id := range volumes {
		_, err := b.east.site.Driver.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: id})
		errs = append(errs, err)
	}
	snapshots, err := b.folder.Snapshots()
	errs = append(errs, err)
	for id := range snapshots {
		_, err := b.east.site.Driver.DeleteSnapshot(ctx, &spec.DeleteSnapshotRequest{SnapshotId: id})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
