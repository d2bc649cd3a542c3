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

// Folder is a storage backend: images of volumes and snapshots, and who has them.
type Folder struct {
	// Dir is where it lies. Paths below it that are no names of the folder's own are free for tests: what is
	// mounted there goes away with the folder.
	Dir   string
	owner *os.File
	mu    sync.Mutex
	// unready of the next answers about snapshots say that they are not ready yet.
	unready int
}

// state is all that a folder knows of its images.
type state struct {
	Nodes     map[string]node     `json:"nodes"`
	Volumes   map[string]Volume   `json:"volumes"`
	Snapshots map[string]Snapshot `json:"snapshots"`
}

// node is a node of one of the clusters.
type node struct {
	MostVolumes int64 `json:"mostVolumes,omitempty"`
	// Place is where it mounts.
	Place place `json:"place,omitempty"`
}

// Volume is what the folder knows of a volume.
type Volume struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Bytes is the size of its device.
	Bytes int64 `json:"bytes"`
	// Origin is the volume or snapshot that it was made from.
	Origin string `json:"origin,omitempty"`
	// Device: it was made to be used as a device.
	Device bool `json:"device,omitempty"`
	// Published are the nodes that it is attached to, and whether only for reading.
	Published map[string]bool `json:"published,omitempty"`
	// Node is where it is staged, or empty.
	Node string `json:"node,omitempty"`
	// Staging is the path where it is staged on the node.
	Staging string `json:"staging,omitempty"`
	// Block: it is staged as a device.
	Block bool `json:"block,omitempty"`
	// Targets are the paths where it is published on the node.
	Targets []string `json:"targets,omitempty"`
}

// Snapshot is what the folder knows of a snapshot.
type Snapshot struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Volume  string    `json:"volume"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
	// Group is the group snapshot that it is one of, or empty.
	Group string `json:"group,omitempty"`
}

// Make makes a folder for this process, and takes away those of processes that have ended without closing theirs.
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

// own locks a file, which gets its name when the lock is held: another process may sweep at any time.
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

// sweep removes folders that nobody owns any more. It is a courtesy, so what it cannot remove stays.
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

// Close unmounts and detaches all that is left of the folder, and removes it.
func (f *Folder) Close() error { return errors.Join(wipe(f.Dir), f.owner.Close()) }

func wipe(dir string) error {
	if err := errors.Join(unmountBelow(dir), detachBelow(dir)); err != nil {
		return fmt.Errorf("folder %s is left: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

// image is the file of a volume or of a snapshot.
func (f *Folder) image(id string) string { return filepath.Join(f.Dir, imagesFolder, id) }

// with lets one at a time look at the state and change it. What an error has changed is not kept.
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

// Volumes are all volumes, by their handles.
func (f *Folder) Volumes() (volumes map[string]Volume, err error) {
	err = f.with(func(s *state) error { volumes = s.Volumes; return nil })
	return volumes, err
}

// Snapshots are all snapshots, by their handles.
func (f *Folder) Snapshots() (snapshots map[string]Snapshot, err error) {
	err = f.with(func(s *state) error { snapshots = s.Snapshots; return nil })
	return snapshots, err
}

// Unready has the next answers about snapshots say that they are not ready to use, this many.
func (f *Folder) Unready(answers int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unready = answers
}
