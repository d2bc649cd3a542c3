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

type trimmedKey struct{}

// Trimmed says whether a request is answered with a list of pods, which may come in protobuf and is to be
// trimmed.
func Trimmed(ctx context.Context) bool { return ctx.Value(trimmedKey{}) != nil }

// Lister lists pods as package slim leaves them, in protobuf, which the transport below it trims (see
// Trimmed). A cluster that answers in JSON is understood all the same.
type Lister struct{ client.Client }

// NewLister is of a cluster, over a transport that trims.
func NewLister(config *rest.Config, of *http.Client, scheme *runtime.Scheme, mapper meta.RESTMapper) (Lister, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	lists, err := client.New(config, client.Options{HTTPClient: of, Scheme: scheme, Mapper: mapper})
	return Lister{lists}, err
}

// List implements client.Reader, for pods.
func (l Lister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, isPods := list.(*corev1.PodList)
	if !isPods {
		return fmt.Errorf("a list of pods is made of pods, not of %T", list)
	}
	if err := l.Client.List(context.WithValue(ctx, trimmedKey{}, true), pods, opts...); err != nil {
		return err
	}
	for i := range pods.Items {
		slim.Down(&pods.Items[i])
	}
	return nil
}
