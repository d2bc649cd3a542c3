package setup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
)

// poll is the interval between two checks of a condition.
const poll = 100 * time.Millisecond

// Client returns a client of a cluster for every type that the tests write.
func Client(at *kind.Cluster) (client.Client, error) { return fixture.Client(at.Config) }

// Create creates an object unless it exists.
func Create(ctx context.Context, at *kind.Cluster, object client.Object) error {
	return with(at, func(c client.Client) error { return fixture.Create(ctx, c, object) })
}

// CRDs installs the resource definitions of this checkout in a cluster and waits until they are served.
func CRDs(ctx context.Context, at *kind.Cluster) error {
	return with(at, func(c client.Client) error { return fixture.InstallCRDs(ctx, c) })
}

// with runs a function with a client of a cluster; an error names the cluster.
func with(at *kind.Cluster, do func(client.Client) error) error {
	c, err := Client(at)
	if err == nil {
		err = do(c)
	}
	if err != nil {
		return fmt.Errorf("cluster %s: %w", at.Name, err)
	}
	return nil
}

// Storage creates the storage class.
func Storage(ctx context.Context, at *kind.Cluster) error {
	return Create(ctx, at, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: kind.StorageClass}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate), ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
	})
}

// Namespace creates a namespace in which pods can be created.
func Namespace(ctx context.Context, at *kind.Cluster, name string) error {
	if err := Create(ctx, at, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, err := at.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}
