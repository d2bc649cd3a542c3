package execute

import (
	"context"
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const eviction = "eviction"

// AnsweredAtOnce returns a client that sends each eviction once. Other client-go clients retry up to ten times. Before each
// retry they wait 10 s, the Retry-After that the API server sends while a changed budget is not recalculated
// (createTooManyRequestsError in pkg/registry/core/pod/storage/eviction.go). A worker would be blocked for 100 s and then
// evict an outdated choice.
func AnsweredAtOnce(c client.Client, config *rest.Config, over *http.Client) (client.Client, error) {
	core, err := corev1client.NewForConfigAndClient(config, over)
	if err != nil {
		return nil, fmt.Errorf("a client for evictions: %w", err)
	}
	return answeredAtOnce{c, core.RESTClient()}, nil
}

type answeredAtOnce struct {
	client.Client
	core rest.Interface
}

func (a answeredAtOnce) SubResource(name string) client.SubResourceClient {
	if name == eviction {
		return evictions{a.Client.SubResource(name), a.core}
	}
	return a.Client.SubResource(name)
}

type evictions struct {
	client.SubResourceClient
	core rest.Interface
}

// Create requests the eviction of a pod. It takes no options.
func (e evictions) Create(ctx context.Context, pod, body client.Object, _ ...client.SubResourceCreateOption) error {
	asked, is := body.(*policyv1.Eviction)
	if !is {
		return fmt.Errorf("pod %s: %T is no eviction", client.ObjectKeyFromObject(pod), body)
	}
	return e.core.Post().Namespace(pod.GetNamespace()).Resource("pods").Name(pod.GetName()).SubResource(eviction).
		MaxRetries(0).Body(asked).Do(ctx).Error()
}
