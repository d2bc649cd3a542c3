package auditor

import (
	"context"
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// side is one end of the move with its connection.
type side struct {
	Side
	index judge.SideIndex
	core  kubernetes.Interface
	sets  dynamic.ResourceInterface
	// cluster identifies the API server: the uid of its namespace kube-system.
	cluster types.UID
	// store is the side whose volumes and attachments are watched for this side. It is the source when both sides are
	// one cluster.
	store judge.SideIndex
	// templates are the names of the source's claim templates.
	templates []string
}

// connect opens the side's connections and reads the cluster's identity.
func connect(ctx context.Context, index judge.SideIndex, o Side) (*side, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	config.UserAgent = "sliceshift-auditor"
	// client-go shares one connection between all clients whose configurations are equal. A separate dialer keeps the
	// auditor off the engine's connection.
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	}
	config.Dial = dial
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	sets, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := kubernetes.NewForConfigAndClient(typed, client)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	system, err := core.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("identify cluster %s by its namespace %s: %w", o.Name, metav1.NamespaceSystem, err)
	}
	return &side{
		Side:    o,
		index:   index,
		store:   index,
		core:    core,
		sets:    sets.Resource(o.Resource).Namespace(o.Namespace),
		cluster: system.UID,
	}, nil
}

// String names the set for messages.
func (s *side) String() string {
	return fmt.Sprintf("%s/%s in %s", s.Namespace, s.Set, s.Name)
}
