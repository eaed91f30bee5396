//===- ImageFile.cpp - PNG and JPEG files -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of image files. libpng and libjpeg report a damaged file by longjmp, which skips
// destructors: every object with a destructor is outside the functions that call setjmp.
#include "heddle/Images/Image.h"

#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include <jerror.h>
#include <jpeglib.h>
#include <libexif/exif-data.h>
#include <png.h>

using namespace heddle;

namespace {

/// Maximum number of pixels of an image, equal to other tools' limit: a small file may claim any
/// size.
constexpr int64_t mostFilePixels = int64_t(1) << 27;

struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Jump target for a library's error, and its message.
struct Failure {
  std::jmp_buf escape;
  char message[256] = {};

  [[noreturn]] void leave(const char *text) {
    std::snprintf(message, sizeof message, "%s", text);
    std::longjmp(escape, 1);
  }
};

bool makeRoom(Image &image, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > mostFilePixels / height)
    return false;
  image.width = width;
  image.height = height;
  image.pixels.resize(static_cast<size_t>(3 * width * height));
  return true;
}

uint8_t *rowOf(Image &image, int64_t y) { return image.pixels.data() + 3 * y * image.width; }

//===- Exif --------------------------------------------------------------===//

/// First bytes of Exif data in JPEG files.
constexpr std::string_view exifMark("Exif\0\0", 6);

/// Exif orientation, 1 to 8; 1: upright.
int orientationOf(std::span<const uint8_t> data) {
  std::unique_ptr<ExifData, decltype(&exif_data_unref)> exif(
      exif_data_new_from_data(data.data(), static_cast<unsigned>(data.size())), exif_data_unref);
  ExifEntry *entry = exif ? exif_data_get_entry(exif.get(), EXIF_TAG_ORIENTATION) : nullptr;
  const bool isNumber = entry && entry->format == EXIF_FORMAT_SHORT && entry->components >= 1;
  return isNumber ? exif_get_short(entry->data, exif_data_get_byte_order(exif.get())) : 1;
}

/// Rotates and mirrors an image so that it is upright.
Image upright(Image image, int orientation) {
  if (orientation < 2 || orientation > 8)
    return image;
  const bool transposed = orientation >= 5;
  const bool fromRight =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool fromBelow =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image turned;
  makeRoom(turned, transposed ? image.height : image.width,
           transposed ? image.width : image.height);
  for (int64_t y = 0; y < turned.height; ++y)
    for (int64_t x = 0; x < turned.width; ++x) {
      int64_t fromX = transposed ? y : x, fromY = transposed ? x : y;
      if (fromRight)
        fromX = image.width - 1 - fromX;
      if (fromBelow)
        fromY = image.height - 1 - fromY;
      std::memcpy(rowOf(turned, y) + 3 * x, rowOf(image, fromY) + 3 * fromX, 3);
    }
  return turned;
}

//===- PNG ---------------------------------------------------------------===//

struct Png {
  Failure failure;
  png_structp reader = png_create_read_struct(
      PNG_LIBPNG_VER_STRING, &failure,
      [](png_structp png, png_const_charp text) {
        static_cast<Failure *>(png_get_error_ptr(png))->leave(text);
      },
      [](png_structp, png_const_charp) {});
  png_infop info = png_create_info_struct(reader);
  std::vector<png_bytep> rows;
  std::vector<uint8_t> exif;
  int orientation = 1;
  ~Png() { png_destroy_read_struct(&reader, &info, nullptr); }
};

bool readPng(Png &png, std::FILE *file, Image &image) {
  if (setjmp(png.failure.escape))
    return false;
  png_init_io(png.reader, file);
  png_read_info(png.reader, png.info);
  if (!makeRoom(image, png_get_image_width(png.reader, png.info),
                png_get_image_height(png.reader, png.info)))
    png.failure.leave("too many pixels");
  png_set_expand(png.reader);
  png_set_strip_16(png.reader);
  png_set_strip_alpha(png.reader);
  png_set_gray_to_rgb(png.reader);
  png_set_interlace_handling(png.reader);
  png_read_update_info(png.reader, png.info);
  if (png_get_rowbytes(png.reader, png.info) != static_cast<size_t>(3 * image.width))
    png.failure.leave("unusual channels");
  for (int64_t y = 0; y < image.height; ++y)
    png.rows.push_back(rowOf(image, y));
  png_read_image(png.reader, png.rows.data());
  png_read_end(png.reader, png.info); // a chunk eXIf may follow the pixels
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png.reader, png.info, &size, &exif) && size < 0xffff) {
    png.exif.assign(exifMark.begin(), exifMark.end());
    png.exif.insert(png.exif.end(), exif, exif + size);
    png.orientation = orientationOf(png.exif);
  }
  return true;
}

//===- JPEG --------------------------------------------------------------===//

/// Orientation in the first marker with Exif data.
int orientationOf(jpeg_saved_marker_ptr marker) {
  for (; marker; marker = marker->next)
    if (std::string_view(reinterpret_cast<const char *>(marker->data), marker->data_length)
            .starts_with(exifMark))
      return orientationOf(std::span(marker->data, marker->data_length));
  return 1;
}

struct Jpeg {
  jpeg_error_mgr errors;
  Failure failure;
  jpeg_decompress_struct reader;
  std::vector<uint8_t> inks; ///< a row of CMYK
  int orientation = 1;

  Jpeg() {
    reader.err = jpeg_std_error(&errors);
    reader.client_data = &failure;
    errors.error_exit = [](j_common_ptr jpeg) {
      char text[JMSG_LENGTH_MAX];
      jpeg->err->format_message(jpeg, text);
      static_cast<Failure *>(jpeg->client_data)->leave(text);
    };
    // Some warnings mean that the image is truncated or damaged; others do not affect pixels.
    errors.emit_message = [](j_common_ptr jpeg, int level) {
      constexpr int damage[] = {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                                JWRN_MUST_RESYNC};
      if (level < 0 && std::ranges::find(damage, jpeg->err->msg_code) != std::end(damage))
        jpeg->err->error_exit(jpeg);
    };
    jpeg_create_decompress(&reader);
  }
  ~Jpeg() { jpeg_destroy_decompress(&reader); }
};

/// Converts CMYK to RGB; Adobe's files store inverted values.
void mixInks(const std::vector<uint8_t> &inks, bool inverted, uint8_t *rgb) {
  for (size_t x = 0; x * 4 < inks.size(); ++x) {
    auto ink = [&](size_t i) { return inverted ? 255 - inks[4 * x + i] : inks[4 * x + i]; };
    const int light = 255 - ink(3);
    for (size_t i = 0; i < 3; ++i)
      rgb[3 * x + i] = static_cast<uint8_t>(light - (ink(i) * light + 127) / 255);
  }
}

bool readJpeg(Jpeg &jpeg, std::FILE *file, Image &image) {
  if (setjmp(jpeg.failure.escape))
    return false;
  jpeg_stdio_src(&jpeg.reader, file);
  jpeg_save_markers(&jpeg.reader, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&jpeg.reader, TRUE);
  jpeg.orientation = orientationOf(jpeg.reader.marker_list);
  const bool mixes =
      jpeg.reader.jpeg_color_space == JCS_CMYK || jpeg.reader.jpeg_color_space == JCS_YCCK;
  jpeg.reader.out_color_space = mixes ? JCS_CMYK : JCS_RGB;
  if (!makeRoom(image, jpeg.reader.image_width, jpeg.reader.image_height))
    jpeg.failure.leave("too many pixels");
  if (mixes)
    jpeg.inks.resize(static_cast<size_t>(4 * image.width));
  jpeg_start_decompress(&jpeg.reader);
  while (jpeg.reader.output_scanline < jpeg.reader.output_height) {
    uint8_t *row = rowOf(image, jpeg.reader.output_scanline);
    JSAMPROW target = mixes ? jpeg.inks.data() : row;
    jpeg_read_scanlines(&jpeg.reader, &target, 1);
    if (mixes)
      mixInks(jpeg.inks, jpeg.reader.saw_Adobe_marker, row);
  }
  jpeg_finish_decompress(&jpeg.reader);
  return true;
}

} // namespace

Expected<Image> heddle::readImage(const std::string &path) {
  HEDDLE_TRY(checkRegularFile(path));
  const File file(std::fopen(path.c_str(), "rb"));
  unsigned char start[8] = {};
  if (!file)
    return systemError(path, "a PNG or JPEG file");
  const size_t count = std::fread(start, 1, sizeof start, file.get());
  std::rewind(file.get());
  Image image;
  auto damaged = [&](const char *kind, const Failure &failure) {
    return inputError(path + ": expected a whole " + kind + " image of at most " +
                      std::to_string(mostFilePixels) + " pixels, found: " + failure.message);
  };
  if (count == 8 && png_sig_cmp(start, 0, 8) == 0) {
    Png png;
    if (!readPng(png, file.get(), image))
      return damaged("PNG", png.failure);
    return upright(std::move(image), png.orientation);
  }
  if (count >= 3 && start[0] == 0xff && start[1] == 0xd8 && start[2] == 0xff) {
    Jpeg jpeg;
    if (!readJpeg(jpeg, file.get(), image))
      return damaged("JPEG", jpeg.failure);
    return upright(std::move(image), jpeg.orientation);
  }
  return inputError(path + ": expected a PNG or JPEG file, found another kind of file");
}
