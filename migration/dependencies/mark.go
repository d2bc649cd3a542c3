package dependencies

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Mark is the annotation of a copy: its origin, and the origin's content when the copy was written.
type Mark struct {
	// Cluster is the UID of the namespace kube-system of the origin's cluster.
	Cluster         types.UID
	Namespace, Name string
	// UID is the UID of the origin.
	UID types.UID
	// Hash is the digest of the origin when the copy was written.
	Hash string
	// PutBack counts how often the copy was restored after a change by another client.
	PutBack int
}

// String returns the mark as the value of a copy's annotation.
func (m Mark) String() string {
	return fmt.Sprintf("%s/%s/%s %s %s %d", m.Cluster, m.Namespace, m.Name, m.UID, m.Hash, m.PutBack)
}

// ParseMark parses a mark; nil if the value is not a mark.
func ParseMark(value string) *Mark {
	fields := strings.Fields(value)
	const parts = 4
	if len(fields) != parts {
		return nil
	}
	path := strings.Split(fields[0], "/")
	putBack, err := strconv.Atoi(fields[3])
	if err != nil || putBack < 0 || len(path) != 3 {
		return nil
	}
	return &Mark{Cluster: types.UID(path[0]), Namespace: path[1], Name: path[2], UID: types.UID(fields[1]), Hash: fields[2], PutBack: putBack}
}

// Of reports whether the mark names an object, regardless of the UID.
func (m *Mark) Of(cluster types.UID, namespace, name string) bool {
	return m != nil && m.Cluster == cluster && m.Namespace == namespace && m.Name == name
}
