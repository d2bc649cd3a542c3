package clusters

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podLister lists pods as Slim leaves them, in protobuf, which the guard trims. A cluster that answers in
// JSON is understood all the same.
type podLister struct{ client.Client }

func newPodLister(c *core, of *http.Client) (podLister, error) {
	config := rest.CopyConfig(c.config)
	config.ContentType, config.AcceptContentTypes = protobufType, protobufType+","+jsonType
	lists, err := client.New(config, client.Options{HTTPClient: of, Scheme: c.scheme, Mapper: c.mapper})
	return podLister{lists}, err
}

// List implements client.Reader, for pods.
func (l podLister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, isPods := list.(*corev1.PodList)
	if !isPods {
		return fmt.Errorf("a list of pods is made of pods, not of %T", list)
	}
	if err := l.Client.List(podsOnly(ctx), pods, opts...); err != nil {
		return err
	}
	for i := range pods.Items {
		Slim(&pods.Items[i])
	}
	return nil
}
