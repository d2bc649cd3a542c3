package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Annotations of a pod that delay its kubelet. All take a Go duration such as "3s". The time runs from the last change
// of the pod: another change restarts the wait, and so does a new kwok.
const (
	// ReadyDelayAnnotationKey delays a pod's Ready condition by that time after it was scheduled. A pod template may
	// set it.
	ReadyDelayAnnotationKey = "e2e.sliceshift.io/ready-delay"
	// DeleteDelayAnnotationKey keeps a deleted pod Terminating for that time, whatever its grace period, unless the
	// grace period is 0.
	DeleteDelayAnnotationKey = "e2e.sliceshift.io/delete-delay"
	// PullDelayAnnotationKey delays the switch of a running pod to a changed image by that time.
	PullDelayAnnotationKey = "e2e.sliceshift.io/pull-delay"
)

// Annotations of a pod that disable a part of its kubelet.
const (
	// UnseenAnnotationKey keeps the kubelet from seeing changes of a running pod while the annotation is set. The
	// value does not matter.
	UnseenAnnotationKey = "e2e.sliceshift.io/unseen"
	// ResizeAnnotationKey lets the kubelet answer a resize with this reason of the condition PodResizePending while
	// the annotation is set: Infeasible or Deferred.
	ResizeAnnotationKey = "e2e.sliceshift.io/resize"
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages writes the configuration of kwok, one file with the content of all files of the folder stages.
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
