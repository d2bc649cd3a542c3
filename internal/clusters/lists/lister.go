// Package lists reads all pods of a namespace, and the disks of all volumes of a cluster. It uses protobuf, which it trims
// before decoding, and shares a list of pods among concurrent callers.
package lists

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// Cache returns a reader of the cached pods of a namespace, in the form of package slim, or nil. It may be older than a
// list: a pod with another UID or resourceVersion is not used.
type Cache func(namespace string) client.Reader

// Lister lists pods in the form of package slim, and volumes with the fields that package disk compares. It requests
// protobuf, which the transport passes to Take. Cached pods are not decoded again. A cluster that answers in JSON works too.
type Lister struct {
	client.Client
	cache Cache
}

// NewLister returns a lister for a cluster. Its transport must pass its lists to Take.
func NewLister(config *rest.Config, of *http.Client, scheme *runtime.Scheme, mapper meta.RESTMapper, cache Cache) (Lister, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	lists, err := client.New(config, client.Options{HTTPClient: of, Scheme: scheme, Mapper: mapper})
	return Lister{lists, cache}, err
}

// List implements client.Reader, for pods and volumes.
func (l Lister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.PodList:
		var asked client.ListOptions
		asked.ApplyOptions(opts)
		found := &pods{known: l.cache(asked.Namespace)}
		took, err := l.take(ctx, list, listOfPods, found, opts)
		if took {
			list.Items = found.items
			return err
		}
		for i := range list.Items {
			slim.Down(&list.Items[i])
		}
		return err
	case *corev1.PersistentVolumeList:
		found := &volumes{}
		took, err := l.take(ctx, list, listOfVolumes, found, opts)
		if took {
			list.Items = found.items
		}
		return err
	default:
		return fmt.Errorf("lists of %T are not trimmed", list)
	}
}

// take reads a list, and reports whether the receiver has its items.
func (l Lister) take(ctx context.Context, list client.ObjectList, of form, into receiver, opts []client.ListOption) (bool, error) {
	t := &taking{form: of, into: into}
	err := l.Client.List(context.WithValue(ctx, takingKey{}, t), list, opts...)
	return t.took && err == nil, err
}
