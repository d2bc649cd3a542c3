package replica

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// Page requests a page of a replica through the API server, so it needs no route to the pods. query may be nil.
func Page(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, page string, query map[string]string) (string, error) {
	content, err := client.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, strconv.Itoa(Port), page, query).DoRaw(ctx)
	return string(content), err
}

// Journal reads the journal that a replica keeps in one of its folders. It fails if the journal is not the owner's, is
// not complete, or if a process reported another writer of it.
func Journal(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, owner, dir string) (journal.Journal, error) {
	query := map[string]string{"dir": dir}
	content, err := Page(ctx, client, pod, "journal", query)
	if err != nil {
		return journal.Journal{}, err
	}
	read, err := journal.Read(content, owner)
	if err != nil {
		return read, fmt.Errorf("journal of %s in %s: %w", pod.Name, dir, err)
	}
	accused, err := Page(ctx, client, pod, "violations", query)
	if err == nil && accused != "" {
		err = fmt.Errorf("%s ran twice: %s", pod.Name, accused)
	}
	return read, err
}
