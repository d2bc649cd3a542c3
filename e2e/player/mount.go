package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// mounts maps the names of a pod's volumes to folders and devices of this machine.
type mounts map[string]string

// errUnplayed means that a pod has a volume that the player cannot mount, however long it waits.
var errUnplayed = errors.New("it is of a kind that is not played")

// mount waits until all volumes of a pod can be mounted, as a kubelet does. A volume that is not played fails the pod.
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod) (mounts, error) {
	mounted, last := mounts{}, error(nil)
	err := wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		var errs []error
		for _, v := range pod.Spec.Volumes {
			at, err := k.volume(ctx, pod, v)
			mounted[v.Name] = at
			errs = append(errs, err)
		}
		err := errors.Join(errs...)
		if err != nil && (last == nil || last.Error() != err.Error()) {
			k.player.log.Printf("pod %s/%s is not mounted: %v", pod.Namespace, pod.Name, err)
		}
		last = err
		if errors.Is(err, errUnplayed) {
			return false, err
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	for _, v := range pod.Spec.Volumes {
		if v.DownwardAPI != nil {
			k.player.running.Go(func() { k.follow(ctx, mounted[v.Name], v.DownwardAPI) })
		}
	}
	return mounted, nil
}

// volume returns the path of one volume.
func (k *kubelet) volume(ctx context.Context, pod *corev1.Pod, v corev1.Volume) (string, error) {
	own := filepath.Join(k.dir, "volumes", v.Name)
	switch {
	case v.PersistentVolumeClaim != nil:
		return k.claim(ctx, pod, v.PersistentVolumeClaim.ClaimName)
	case v.EmptyDir != nil:
		return own, os.MkdirAll(own, 0o700)
	case v.DownwardAPI != nil:
		if err := os.MkdirAll(own, 0o755); err != nil {
			return "", err
		}
		return own, project(own, v.DownwardAPI, k.pod())
	default:
		return "", fmt.Errorf("volume %s: %w", v.Name, errUnplayed)
	}
}

// claim returns the folder or device of a claim. Like a kubelet, it fails unless the volume is bound to that claim.
func (k *kubelet) claim(ctx context.Context, pod *corev1.Pod, name string) (string, error) {
	volume, err := fixture.BoundVolume(ctx, k.player.client, pod.Namespace, name)
	if err != nil {
		return "", err
	}
	switch {
	case volume.Spec.HostPath != nil:
		return volume.Spec.HostPath.Path, nil
	case volume.Spec.Local != nil:
		return volume.Spec.Local.Path, nil
	case k.player.options.Volumes != nil && k.player.options.Volumes.Serves(volume):
		return k.player.options.Volumes.Mount(ctx, pod, volume)
	default:
		return "", fmt.Errorf("volume %s is neither a hostPath nor a local volume: there is nothing on this machine to mount", volume.Name)
	}
}

// unmount unmounts the volumes of a pod by their driver, and retries until it succeeds.
func (k *kubelet) unmount(ctx context.Context) {
	volumes := k.player.options.Volumes
	if volumes == nil {
		return
	}
	pod := k.pod()
	_ = wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		err := volumes.Unmount(ctx, pod)
		if err != nil {
			k.player.log.Printf("pod %s/%s is not unmounted: %v", pod.Namespace, pod.Name, err)
		}
		return err == nil, nil
	})
}

// follow rewrites the files of a downwardAPI volume whenever the pod has changed.
func (k *kubelet) follow(ctx context.Context, dir string, from *corev1.DownwardAPIVolumeSource) {
	var last *corev1.Pod
	for {
		v, err := k.await(ctx, func(v view) bool { return v.pod != last })
		if err != nil || v.gone {
			return
		}
		if err := project(dir, from, v.pod); err != nil {
			k.player.log.Printf("pod %s/%s: %v", v.pod.Namespace, v.pod.Name, err)
		}
		last = v.pod
	}
}

// project writes the annotations that a downwardAPI volume names, each atomically.
func project(dir string, from *corev1.DownwardAPIVolumeSource, pod *corev1.Pod) error {
	for _, item := range from.Items {
		key, found := strings.CutPrefix(item.FieldRef.FieldPath, "metadata.annotations['")
		key, ended := strings.CutSuffix(key, "']")
		if !found || !ended {
			return fmt.Errorf("%s is no annotation", item.FieldRef.FieldPath)
		}
		at := filepath.Join(dir, item.Path)
		if err := os.WriteFile(at+".next", []byte(pod.Annotations[key]), 0o644); err != nil {
			return err
		}
		if err := os.Rename(at+".next", at); err != nil {
			return err
		}
	}
	return nil
}

// place replaces a path below a mount in an argument of a container by the path on this machine.
func (m mounts) place(c corev1.Container, arg string) string {
	flag, path, found := strings.Cut(arg, "=")
	if flag += "="; !found {
		flag, path = "", arg
	}
	type point struct{ at, real string }
	var points []point
	for _, each := range c.VolumeMounts {
		points = append(points, point{each.MountPath, m[each.Name]})
	}
	for _, each := range c.VolumeDevices {
		points = append(points, point{each.DevicePath, m[each.Name]})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(len(b.at), len(a.at)) })
	for _, each := range points {
		if rest, below := strings.CutPrefix(path, each.at); below && (rest == "" || rest[0] == '/') {
			return flag + each.real + rest
		}
	}
	return arg
}
