// Package podlist lists all pods of a namespace. It uses protobuf, which it trims before decoding, and shares a list among
// concurrent callers.
package podlist

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

// Lister lists pods in the form of package slim. It requests protobuf, which the transport passes to Take. Cached pods are
// not decoded again. A cluster that answers in JSON works too.
type Lister struct {
	client.Client
	cache Cache
}

// NewLister returns a lister for a cluster. Its transport must pass lists of pods to Take.
func NewLister(config *rest.Config, of *http.Client, scheme *runtime.Scheme, mapper meta.RESTMapper, cache Cache) (Lister, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	lists, err := client.New(config, client.Options{HTTPClient: of, Scheme: scheme, Mapper: mapper})
	return Lister{lists, cache}, err
}

// List implements client.Reader, for pods.
func (l Lister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, isPods := list.(*corev1.PodList)
	if !isPods {
		return fmt.Errorf("a list of pods is made of pods, not of %T", list)
	}
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	found := &taking{known: l.cache(asked.Namespace)}
	if err := l.Client.List(context.WithValue(ctx, takingKey{}, found), pods, opts...); err != nil {
		return err
	}
	if found.took {
		pods.Items = found.pods
		return nil
	}
	for i := range pods.Items {
		slim.Down(&pods.Items[i])
	}
	return nil
}
