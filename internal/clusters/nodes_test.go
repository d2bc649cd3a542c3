package clusters

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pagesOfNodes answers each list with one node, and the first two with a continue token.
type pagesOfNodes struct {
	client.Client
	asked []string
}

func (p *pagesOfNodes) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	said := client.ListOptions{}
	said.ApplyOptions(opts)
	p.asked = append(p.asked, fmt.Sprintf("%d %s", said.Limit, said.Continue))
	nodes, _ := list.(*corev1.NodeList)
	nodes.Items = []corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", len(p.asked))}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"app:1"}}}},
	}}
	if len(p.asked)%3 != 0 {
		nodes.Continue = fmt.Sprintf("after-%d", len(p.asked))
	}
	return nil
}

// TestH6Nodes: nodes are read page by page, without unused fields, and are kept for callers within a limited time.
func TestH6Nodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &pagesOfNodes{}
		live := nodes{server, &keptNodes{}}
		list := func(within time.Duration) string {
			t.Helper()
			var all corev1.NodeList
			if err := live.List(t.Context(), &all, NodesWithin(within)); err != nil || len(all.Items) != 3 || all.Items[0].Status.Images != nil {
				t.Fatalf("got %+v, %v", all, err)
			}
			return all.Items[2].Name
		}
		got := []string{list(0), list(time.Second)}
		if diff := cmp.Diff([]string{"500 ", "500 after-1", "500 after-2"}, server.asked); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		got = append(got, list(time.Second), list(0), list(time.Second))
		if diff := cmp.Diff([]string{"node-3", "node-3", "node-6", "node-9", "node-9"}, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		time.Sleep(keepNodes + time.Second)
		if synctest.Wait(); live.kept.items != nil {
			t.Error("nodes are kept for longer than anybody may ask for")
		}
		live.kept = nil
		if list(time.Hour); len(server.asked) != 12 {
			t.Errorf("those of a cluster that is not trusted were kept: %v", server.asked)
		}
	})
}
