package dependencies

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Mark is what a copy says of itself: what it is a copy of, and how that was when it was written.
type Mark struct {
	// Cluster is the UID of the namespace kube-system of the origin's cluster.
	Cluster         types.UID
	Namespace, Name string
	// UID is the origin's.
	UID types.UID
	// Hash is of the origin as it was written.
	Hash string
	// PutBack counts how often it had to be put back after somebody else had changed it.
	PutBack int
}

// String is the mark as a copy bears it, in its annotation.
func (m Mark) String() string {
	return fmt.Sprintf("%s/%s/%s %s %s %d", m.Cluster, m.Namespace, m.Name, m.UID, m.Hash, m.PutBack)
}

// ParseMark reads a mark; nil: it is none.
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

// Of says whether the mark names that object, whichever one had the name then.
func (m *Mark) Of(cluster types.UID, namespace, name string) bool {
	return m != nil && m.Cluster == cluster && m.Namespace == namespace && m.Name == name
}
