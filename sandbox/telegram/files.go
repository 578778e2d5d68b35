package telegram

import (
	"bytes"
	"image"
	_ "image/gif"  // formats that a photo may have
	_ "image/jpeg" // (registering them is all that these imports do)
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Telegram's limits for photos and for downloads by bots.
const (
	maxPhoto    = 10 << 20 // bytes
	maxDownload = 20 << 20 // bytes; getFile refuses larger files
)

// newFile is a file that a message will carry. data is nil if the file is stored already.
type newFile struct {
	meta fileMeta
	data []byte
}

// photo and document are the file in the Bot API's form.
func (f fileMeta) photo() PhotoSize {
	return PhotoSize{FileID: f.ID, FileUniqueID: f.Unique, Width: f.Width, Height: f.Height, FileSize: f.Size}
}

func (f fileMeta) document() *Document {
	return &Document{FileID: f.ID, FileUniqueID: f.Unique, FileName: f.Name, MimeType: f.Mime, FileSize: f.Size}
}

// kind is Telegram's name for the kind of file.
func (f fileMeta) kind() string {
	switch {
	case f.Photo:
		return "photo"
	case f.Video:
		return "video"
	}
	return "document"
}

// video is the file as a Video.
func (f fileMeta) video() *Video {
	return &Video{FileID: f.ID, FileUniqueID: f.Unique, Width: f.Width, Height: f.Height, Duration: f.Length,
		FileName: f.Name, MimeType: f.Mime, FileSize: f.Size}
}

// fileOf finds the file of a call: in the multipart part of that name, in the part that attach:// names, or by
// file_id. It does not fetch URLs, because the sandbox makes no requests to the internet.
func (s *Server) fileOf(q *request, field string) (*newFile, error) {
	up, uploaded := q.files[field]
	ref := strings.TrimSpace(q.text(field))
	if name, ok := strings.CutPrefix(ref, "attach://"); ok {
		up, uploaded = q.files[name]
	}
	if uploaded {
		return s.newUpload(q, up, field)
	}
	// Anything else is a file_id, or a URL, which is refused.
	switch {
	case ref == "" || strings.HasPrefix(ref, "attach://"):
		return nil, badRequest("there is no %s in the request", field)
	case strings.Contains(ref, "://"):
		return nil, badRequest("failed to get HTTP URL content") // the sandbox makes no requests to the internet
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.st.Files[ref]
	if known == nil {
		return nil, badRequest("wrong remote file identifier specified: Wrong string length")
	}
	if known.kind() != field {
		return nil, badRequest("can't use file of type %s as %s", titled(known.kind()), titled(field))
	}
	return &newFile{meta: *known}, nil
}

func titled(kind string) string { return strings.ToUpper(kind[:1]) + kind[1:] }

// newUpload checks an uploaded file of a kind ("photo", "video" or "document") and gives it ids. It is stored with
// its message.
func (s *Server) newUpload(q *request, up upload, kind string) (*newFile, error) {
	if len(up.data) == 0 {
		return nil, badRequest("file must be non-empty")
	}
	f := newFile{data: up.data}
	s.mu.Lock()
	id := s.randomText(30)
	unique := s.randomText(9)
	s.mu.Unlock()
	// The ids have the form of real ones, but mean nothing.
	f.meta = fileMeta{
		ID: "BQACAg" + id, Unique: "AgAD" + unique, Size: int64(len(up.data)),
		Name: fileName(up.name), Mime: http.DetectContentType(up.data),
	}
	f.meta.Path = "documents/" + unique
	if kind != "photo" {
		// Dimensions and duration of a video are what the bot says; the sandbox decodes no video.
		if kind == "video" {
			f.meta.Video, f.meta.Path = true, "videos/"+unique
			f.meta.Width, f.meta.Height, f.meta.Length = int(q.number("width", 0)), int(q.number("height", 0)), int(q.number("duration", 0))
		}
		if t, _, err := mime.ParseMediaType(up.mime); err == nil && t != "application/octet-stream" {
			f.meta.Mime = t
		}
		return &f, nil
	}
	// Photos are decoded as far as their header, to learn format and size.
	config, format, err := image.DecodeConfig(bytes.NewReader(up.data))
	switch {
	case err != nil:
		return nil, badRequest("IMAGE_PROCESS_FAILED")
	case len(up.data) > maxPhoto:
		return nil, &apiError{code: 413, description: "Request Entity Too Large"}
	case config.Width+config.Height > 10_000 || config.Width > 20*config.Height || config.Height > 20*config.Width:
		return nil, badRequest("PHOTO_INVALID_DIMENSIONS")
	}
	f.meta.ID, f.meta.Unique, f.meta.Photo = "AgACAg"+id, "AQAD"+unique, true
	f.meta.Width, f.meta.Height, f.meta.Mime = config.Width, config.Height, "image/"+format
	f.meta.Path = "photos/" + unique + "." + format
	return &f, nil
}

// fileName is the last element of the path that an upload claims.
func fileName(claimed string) string {
	if base := path.Base("/" + strings.ReplaceAll(claimed, "\\", "/")); base != "/" {
		return base
	}
	return "file"
}

// getFile returns the path for serveBotFile. Larger files than maxDownload have none, as in Telegram.
func (s *Server) getFile(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.st.Files[strings.TrimSpace(q.text("file_id"))]
	switch {
	case f == nil:
		return result{}, badRequest("invalid file_id")
	case f.Size > maxDownload:
		return result{}, badRequest("file is too big")
	}
	return result{value: struct {
		ID     string `json:"file_id"`
		Unique string `json:"file_unique_id"`
		Size   int64  `json:"file_size"`
		Path   string `json:"file_path"`
	}{f.ID, f.Unique, f.Size, f.Path}}, nil
}

// serveBotFile answers /file/bot<token>/<file_path>. The path is compared with known files and never opened as it
// comes.
func (s *Server) serveBotFile(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+s.opt.Token+"/")
	if !ok {
		s.answer(w, Call{}, result{}, &apiError{code: 401, description: "Unauthorized"})
		return
	}
	s.mu.Lock()
	var found *fileMeta
	// There are few files, so a search costs less than an index.
	for _, f := range s.st.Files {
		if f.Path == rest {
			found = f
		}
	}
	s.mu.Unlock()
	if found == nil {
		s.answer(w, Call{}, result{}, &apiError{code: 404, description: "Not Found"})
		return
	}
	s.sendFile(w, found, "application/octet-stream")
}

// sendFile sends the stored bytes with a content type that the caller has chosen.
func (s *Server) sendFile(w http.ResponseWriter, f *fileMeta, kind string) {
	s.mu.Lock()
	data, err := s.journal.load(f.ID)
	s.mu.Unlock()
	if err != nil {
		s.answer(w, Call{}, result{}, &apiError{code: 404, description: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Write(data)
}
