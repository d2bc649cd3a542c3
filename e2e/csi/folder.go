package csi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sliceshift/sliceshift/e2e/flock"
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
	// Tier is its parameter of that name.
	Tier string `json:"tier,omitempty"`
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
	owner, err := flock.Own(filepath.Join(dir, ownerFile))
	if err != nil {
		return nil, err
	}
	return &Folder{Dir: dir, owner: owner}, nil
}

// sweep removes folders without an owner. It is best effort: folders that it cannot remove remain.
func sweep() {
	flock.Sweep(filepath.Join(os.TempDir(), folderPrefix+"*", ownerFile), func(dir string) { _ = wipe(dir) })
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

const journalFile = "journal.jsonl"

// Call is one call of a driver about a volume or a snapshot.
type Call struct {
	// At is the time of the answer.
	At time.Time `json:"at"`
	// Method is its name in the specification, such as NodeStageVolume.
	Method string `json:"method"`
	// Volume is the handle of the volume; Node is the node of the call.
	Volume string `json:"volume,omitempty"`
	Node   string `json:"node,omitempty"`
	// Snapshot is the handle of the snapshot.
	Snapshot string `json:"snapshot,omitempty"`
	// Code and Message are the result of the call.
	Code    codes.Code `json:"code"`
	Message string     `json:"message,omitempty"`
	// Fault is true if a test injected a fault.
	Fault bool `json:"fault,omitempty"`
}

// about derives a Call from the common fields of the requests and answers of the specification.
func about(method, here string, request, answer any) Call {
	c := Call{At: time.Now(), Method: method, Node: here}
	for _, each := range []any{request, answer} {
		if of, is := each.(interface{ GetSourceVolumeId() string }); is {
			c.Volume = of.GetSourceVolumeId()
		}
		if of, is := each.(interface{ GetVolumeId() string }); is {
			c.Volume = of.GetVolumeId()
		}
		if of, is := each.(interface{ GetSnapshotId() string }); is {
			c.Snapshot = of.GetSnapshotId()
		}
		if of, is := each.(interface{ GetNodeId() string }); is {
			c.Node = of.GetNodeId()
		}
	}
	return c
}

// write appends a call. A call without a volume or a snapshot, such as a probe, is skipped.
func (f *Folder) write(c Call, err error) error {
	if c.Volume == "" && c.Snapshot == "" {
		return nil
	}
	c.Code, c.Message = status.Code(err), status.Convert(err).Message()
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(f.Dir, journalFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Journal returns all calls about a volume or a snapshot, in the order of their answers.
func (f *Folder) Journal() ([]Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := os.ReadFile(filepath.Join(f.Dir, journalFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var calls []Call
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var c Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// Refusals returns the calls that were refused because the volume is in use. The user is a second node, a second pod,
// or the node that a detach is for and that still has the volume mounted.
func (f *Folder) Refusals() ([]Call, error) {
	calls, err := f.Journal()
	return slices.DeleteFunc(calls, func(c Call) bool { return c.Code != codes.FailedPrecondition || c.Fault }), err
}
