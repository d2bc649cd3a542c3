// Package podlist lists all pods of a namespace: in protobuf, which is trimmed before it is decoded, and once
// for all who ask at the same time.
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

// Cache is what is known of the pods of a namespace, as package slim leaves them, from memory; nil: nothing is.
// It may be older than what is listed: a pod with another UID or resourceVersion is not used.
type Cache func(namespace string) client.Reader

// Lister lists pods as package slim leaves them, in protobuf, which the transport below it hands to Take. What
// is known already is not decoded again. A cluster that answers in JSON is understood all the same.
type Lister struct {
	client.Client
	cache Cache
}

// NewLister is of a cluster, over a transport that hands lists of pods to Take.
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
