package csi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	folderPrefix = "sliceshift-csi-"
	ownerFile    = "owner.lock"
	stateFile    = "state.json"
	imagesFolder = "images"
)

// Folder is a storage backend: images of volumes and snapshots, and the nodes that have them.
type Folder struct {
	// Dir is its path. Tests may use any path below it that the folder does not use itself. Mounts there are removed
	// with the folder.
	Dir   string
	owner *os.File
	mu    sync.Mutex
	// unready is how many of the next answers about snapshots report that the snapshot is not ready.
	unready int
}

// state is the folder's metadata of its images.
type state struct {
	Nodes     map[string]node     `json:"nodes"`
	Volumes   map[string]Volume   `json:"volumes"`
	Snapshots map[string]Snapshot `json:"snapshots"`
}

// node is a node of one of the clusters.
type node struct {
	MostVolumes int64 `json:"mostVolumes,omitempty"`
	// Place is where the node mounts.
	Place place `json:"place,omitempty"`
}

// Volume holds the folder's metadata of a volume.
type Volume struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Bytes is the size of its device.
	Bytes int64 `json:"bytes"`
	// Origin is the volume or snapshot that it was created from.
	Origin string `json:"origin,omitempty"`
	// Device is true if it was created for use as a device.
	Device bool `json:"device,omitempty"`
	// Published maps the nodes that it is attached to; the value is true for read-only attachments.
	Published map[string]bool `json:"published,omitempty"`
	// Node is the node on which it is staged, or empty.
	Node string `json:"node,omitempty"`
	// Staging is its staging path on the node.
	Staging string `json:"staging,omitempty"`
	// Block is true if it is staged as a device.
	Block bool `json:"block,omitempty"`
	// Targets are the target paths on the node at which it is published.
	Targets []string `json:"targets,omitempty"`
}

// Snapshot holds the folder's metadata of a snapshot.
type Snapshot struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Volume  string    `json:"volume"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
	// Group is the group snapshot that contains it, or empty.
	Group string `json:"group,omitempty"`
}

// Make creates a folder for this process, and removes the folders of processes that ended without closing them.
func Make() (*Folder, error) {
	sweep()
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, imagesFolder), 0o700); err != nil {
		return nil, err
	}
	owner, err := own(filepath.Join(dir, ownerFile))
	if err != nil {
		return nil, err
	}
	return &Folder{Dir: dir, owner: owner}, nil
}

// own locks a file. The file gets its final name only when it is locked, because another process may sweep at any
// time.
func own(path string) (*os.File, error) {
	file, err := os.Create(path + ".new")
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, os.Rename(path+".new", path)
}

// sweep removes folders without an owner. It is best effort: folders that it cannot remove remain.
func sweep() {
	owners, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*", ownerFile))
	for _, path := range owners {
		owner, err := os.Open(path) //nolint:gosec // a folder of this package
		if err != nil {
			continue
		}
		if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = wipe(filepath.Dir(path))
		}
		_ = owner.Close()
	}
}

// Close unmounts and detaches everything in the folder, and removes it.
func (f *Folder) Close() error { return errors.Join(wipe(f.Dir), f.owner.Close()) }

func wipe(dir string) error {
	if err := errors.Join(unmountBelow(dir), detachBelow(dir)); err != nil {
		return fmt.Errorf("folder %s is left: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

// image returns the path of the image file of a volume or of a snapshot.
func (f *Folder) image(id string) string { return filepath.Join(f.Dir, imagesFolder, id) }

// with runs do with exclusive access to the state. If do fails, its changes are discarded.
func (f *Folder) with(do func(*state) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &state{Nodes: map[string]node{}, Volumes: map[string]Volume{}, Snapshots: map[string]Snapshot{}}
	path := filepath.Join(f.Dir, stateFile)
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	if content, err = json.MarshalIndent(s, "", "\t"); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Volumes returns all volumes by handle.
func (f *Folder) Volumes() (volumes map[string]Volume, err error) {
	err = f.with(func(s *state) error { volumes = s.Volumes; return nil })
	return volumes, err
}

// Snapshots returns all snapshots by handle.
func (f *Folder) Snapshots() (snapshots map[string]Snapshot, err error) {
	err = f.with(func(s *state) error { snapshots = s.Snapshots; return nil })
	return snapshots, err
}

// Unready makes that many of the next answers about snapshots report that they are not ready to use.
func (f *Folder) Unready(answers int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unready = answers
}
