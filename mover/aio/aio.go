// Package aio reads from many files with one system call (io_submit(2)). The kernel merges the reads that are
// adjacent on the disk, and the caller waits once for all of them. A disk that answers each request after the same
// time, whatever its size, so reads small files many times faster.
//
// Reads run at once only if their files are open with O_DIRECT (open(2)). The kernel does others one after another.
package aio

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Read is one read of an open file.
type Read struct {
	FD int
	// Buffer takes the data. For a file that is open with O_DIRECT, its address, its length and Offset are multiples of
	// the disk's sector.
	Buffer []byte
	Offset int64
	// N is how many bytes were read: fewer than the buffer holds at the end of the file. Err is why none were.
	N   int
	Err error
}

// Reader does reads. It is for one goroutine.
type Reader struct {
	context  uintptr // of io_setup; 0 once it is closed
	controls []control
	pointers []*control
	events   []event
}

// control is struct iocb of <linux/aio_abi.h>. Its key and flags, which are zero here, change places with the order of
// bytes.
type control struct {
	data      uint64
	_         uint64
	operation uint16
	_         int16
	fd        uint32
	buffer    uint64
	length    uint64
	offset    int64
	_         uint64
	_         uint64
}

// event is struct io_event of <linux/aio_abi.h>.
type event struct {
	data   uint64
	_      uint64
	result int64
	_      int64
}

// pread is IOCB_CMD_PREAD.
const pread = 0

// New returns a Reader that does up to depth reads at once. It fails if the kernel or a sandbox has no such reads, and
// if all processes together use as many as fs.aio-max-nr allows.
func New(depth int) (*Reader, error) {
	r := &Reader{controls: make([]control, depth), pointers: make([]*control, depth), events: make([]event, depth)}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&r.context)), 0); errno != 0 {
		return nil, os.NewSyscallError("io_setup", errno)
	}
	return r, nil
}

// Close ends the Reader. It may be called twice.
func (r *Reader) Close() {
	if r.context != 0 {
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, r.context, 0, 0) // it fails only for a context that does not exist
		r.context = 0
	}
}

// Do does all reads, and returns when none of them runs any more. Adjacent reads are merged if they are next to each
// other in reads.
func (r *Reader) Do(reads []Read) {
	for len(reads) > 0 {
		n := min(len(reads), len(r.controls))
		r.batch(reads[:n])
		reads = reads[n:]
	}
}

func (r *Reader) batch(reads []Read) {
	for i := range reads {
		read := &reads[i]
		read.N, read.Err = 0, nil
		r.controls[i] = control{
			data: uint64(i), operation: pread, fd: uint32(read.FD), offset: read.Offset,
			buffer: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(read.Buffer)))), length: uint64(len(read.Buffer)),
		}
		r.pointers[i] = &r.controls[i]
	}
	running := 0
	for next := 0; next < len(reads) || running > 0; {
		n, err := r.submit(r.pointers[next:len(reads)])
		next, running = next+n, running+n
		switch {
		case n > 0:
		case err != nil && (running == 0 || !errors.Is(err, unix.EAGAIN)): // EAGAIN: there is room once others have ended
			reads[next].Err = err
			next++
		default:
			running -= r.wait(reads, running)
		}
	}
	runtime.KeepAlive(reads) // the kernel had the addresses of the buffers
}

// submit starts some of the reads, the first ones, and returns their number. An error is that of the first one.
func (r *Reader) submit(controls []*control) (int, error) {
	if len(controls) == 0 {
		return 0, nil
	}
	for {
		n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, r.context, uintptr(len(controls)), uintptr(unsafe.Pointer(unsafe.SliceData(controls))))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, os.NewSyscallError("io_submit", errno)
		}
	}
}

// wait waits until all running reads have ended, and returns how many those are.
func (r *Reader) wait(reads []Read, running int) int {
	n, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, r.context, uintptr(running), uintptr(len(r.events)), uintptr(unsafe.Pointer(unsafe.SliceData(r.events))), 0, 0)
	switch errno {
	case 0:
	case unix.EINTR:
		return 0
	default:
		// The context is not usable. Nothing may write to the buffers once this function has returned, and io_destroy waits
		// for that.
		r.Close()
		for i := range reads {
			reads[i].N, reads[i].Err = 0, os.NewSyscallError("io_getevents", errno)
		}
		return running
	}
	for _, e := range r.events[:n] {
		if read := &reads[e.data]; e.result < 0 {
			read.Err = unix.Errno(-e.result)
		} else {
			read.N = int(e.result)
		}
	}
	return int(n)
}
