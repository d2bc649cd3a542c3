package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Annotations of a pod that slow its kubelet down. All take a Go duration such
// as "3s". The time runs from the last change of the pod: whoever touches it
// while it waits starts the wait anew, and so does a new kwok.
const (
	// ReadyDelayAnnotationKey lets a pod become Ready that much after it was
	// scheduled. It may come from a pod template.
	ReadyDelayAnnotationKey = "e2e.sliceshift.io/ready-delay"
	// DeleteDelayAnnotationKey keeps a deleted pod Terminating for that long,
	// whatever its grace period is, unless that is 0.
	DeleteDelayAnnotationKey = "e2e.sliceshift.io/delete-delay"
	// PullDelayAnnotationKey lets a running pod whose image was changed run it that much
	// later.
	PullDelayAnnotationKey = "e2e.sliceshift.io/pull-delay"
)

// Annotations of a pod by which its kubelet does less than others.
const (
	// UnseenAnnotationKey keeps its kubelet from seeing that a running pod was changed, as
	// long as the annotation is there. The value does not matter.
	UnseenAnnotationKey = "e2e.sliceshift.io/unseen"
	// ResizeAnnotationKey has the kubelet answer a resize with this reason of the condition
	// PodResizePending, as long as the annotation is there: Infeasible or Deferred.
	ResizeAnnotationKey = "e2e.sliceshift.io/resize"
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages writes the configuration of kwok: all files of the folder stages
// in one.
func writeStages(dir string) error {
	files, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return fmt.Errorf("list the stages: %w", err)
	}
	documents := make([][]byte, 0, len(files))
	for _, file := range files {
		document, err := stages.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a stage: %w", err)
		}
		documents = append(documents, document)
	}
	config := bytes.Join(documents, []byte("---\n"))
	return os.WriteFile(filepath.Join(dir, stagesFile), config, 0o600)
}
