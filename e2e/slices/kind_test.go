package slices

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// startKind starts a kind cluster whose nodes have the images that the sets of these tests name. Each is the workload
// without a volume. The image "stuck" does not exist anywhere.
func startKind(ctx context.Context) (end func(failed bool) error, err error) {
	pair, dir, err := harness.KindPair(ctx, "e2e-kind-slices")
	if err != nil {
		return nil, err
	}
	providing, stop := context.WithCancel(context.WithoutCancel(ctx))
	end = func(failed bool) error {
		stop()
		if failed {
			return errors.Join(pair.KeepLogs(context.Background()), pair.Down(context.Background()))
		}
		return pair.Down(context.Background())
	}
	one, limit, tidy = pair.East.Config, 6*time.Minute, remove
	if api, err = fixture.Client(one); err == nil {
		err = errors.Join(loadWebs(ctx, pair, dir), setup.CRDs(ctx, pair.East))
	}
	if err != nil {
		return nil, errors.Join(err, end(true))
	}
	go provide(providing)
	return end, nil
}

func remove(t *testing.T, namespace *corev1.Namespace) {
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := api.Delete(ctx, namespace); err != nil {
		t.Error(err)
	}
}

// loadWebs builds the images web:1 to web:3 and loads them into the nodes.
func loadWebs(ctx context.Context, pair *kind.Pair, dir string) error {
	source, err := built.Module("e2e", "kind", "workload")
	if err != nil {
		return err
	}
	var images []string
	for version := range 3 {
		image := fmt.Sprintf("web:%d", version+1)
		changes := []string{`CMD ["run"]`, fmt.Sprintf("ENV VERSION=%d", version+1)}
		if err := kind.BuildImage(ctx, dir, source, image, changes...); err != nil {
			return err
		}
		images = append(images, image)
	}
	return pair.Load(ctx, images...)
}

// provide creates a volume for each unbound claim whose default StorageClass creates none, until ctx ends.
func provide(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := provideOnce(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}, lookAgain)
}

func provideOnce(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := api.List(ctx, &claims); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase != corev1.ClaimPending || claim.Spec.VolumeName != "" || !unprovided(ctx, claim) {
			continue
		}
		if err := api.Create(ctx, volumeFor(claim)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// unprovided reports whether the claim's class has no provisioner.
func unprovided(ctx context.Context, claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.StorageClassName == nil {
		return false
	}
	class := &storagev1.StorageClass{}
	err := api.Get(ctx, client.ObjectKey{Name: *claim.Spec.StorageClassName}, class)
	return err == nil && class.Provisioner == "kubernetes.io/no-provisioner"
}

func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: kind.Shared + "/" + string(claim.UID), Type: new(corev1.HostPathDirectoryOrCreate),
			}},
		},
	}
}
